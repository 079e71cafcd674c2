// The yardstick of the kernel_limit benchmark: what a plain loop costs when the dimension is known at compile time.
//
// STE loss log(1 + exp(near - far)) on triplets (i, j, k), squared Euclidean distances. All of a triplet is done
// at once: distances, loss, and the scatter of the derivative. No blocking, no intrinsics, no prefetching by hand:
// the compiler (-O3 -march=native -ffast-math) may do what it likes. The three objects of a triplet differ: __restrict.
#include <cmath>
#include <cstdint>

// A loop over the dimensions. Left to itself gcc unrolls a short one before it looks for vectors: up to a third slower.
#define EACH_DIMENSION(d) _Pragma("GCC unroll 1") for (int d = 0; d < P; ++d)

namespace {

// The differences x_i - x_j and x_i - x_k of one triplet and the derivative of its loss by (near - far).
template <int P, class T>
struct Triplet {
    T toward[P], away[P], slope, margin;

    inline Triplet(const T* xi, const T* xj, const T* xk) {
        T near = 0, far = 0;
        EACH_DIMENSION(d) {
            toward[d] = xi[d] - xj[d];
            away[d] = xi[d] - xk[d];
            near += toward[d] * toward[d];
            far += away[d] * away[d];
        }
        margin = near - far;
        const T small = std::exp(-std::abs(margin));  // never overflows
        slope = (margin > 0 ? T(1) : small) / (T(1) + small);
    }

    inline T value() const {
        return (margin > 0 ? margin : T(0)) + std::log(T(1) + std::exp(-std::abs(margin)));
    }
};

// Mean loss (returned) and its gradient (written to G, n x P).
template <int P, class T>
double full_gradient(const int32_t* triplets, int64_t q, const T* X, int64_t n, T* G) {
    for (int64_t e = 0; e < n * P; ++e) G[e] = 0;
    double total = 0;
    for (int64_t t = 0; t < q; ++t) {
        const int64_t i = triplets[3 * t], j = triplets[3 * t + 1], k = triplets[3 * t + 2];
        const Triplet<P, T> c(X + i * P, X + j * P, X + k * P);
        T *__restrict gi = G + i * P, *__restrict gj = G + j * P, *__restrict gk = G + k * P;
        total += c.value();
        EACH_DIMENSION(d) {
            gi[d] += c.slope * (c.toward[d] - c.away[d]);
            gj[d] -= c.slope * c.toward[d];
            gk[d] += c.slope * c.away[d];
        }
    }
    const T scale = T(2) / T(q);
    for (int64_t e = 0; e < n * P; ++e) G[e] *= scale;
    return total / double(q);
}

// One pass of plain stochastic gradient steps with a constant step, one triplet a step, in the order given.
template <int P, class T>
void sgd_pass(const int32_t* triplets, int64_t q, T* X, T step) {
    for (int64_t t = 0; t < q; ++t) {
        T *__restrict xi = X + int64_t(triplets[3 * t]) * P, *__restrict xj = X + int64_t(triplets[3 * t + 1]) * P,
          *__restrict xk = X + int64_t(triplets[3 * t + 2]) * P;
        const Triplet<P, T> c(xi, xj, xk);
        const T scale = T(2) * step * c.slope;
        EACH_DIMENSION(d) {
            xi[d] -= scale * (c.toward[d] - c.away[d]);
            xj[d] += scale * c.toward[d];
            xk[d] -= scale * c.away[d];
        }
    }
}

// Brings row r up to date with the dense term that the steps since it was last touched owe it.
template <int P, class T>
inline T* caught_up(T* X, const T* mean, int64_t* touched, int64_t r, int64_t now, T step) {
    const T owed = step * T(now - touched[r]);
    touched[r] = now;
    T* x = X + r * P;
    EACH_DIMENSION(d) x[d] -= owed * mean[r * P + d];
    return x;
}

// One SVRG inner loop, one triplet a step: a row gets the full gradient at the snapshot (mean) when it is next touched.
// The slopes at the snapshot were kept when its full gradient was taken.
template <int P, class T>
void svrg_pass(const int32_t* triplets, int64_t q, T* X, int64_t n, const T* S, const T* mean, const T* slopes,
               int64_t* touched, T step) {
    for (int64_t r = 0; r < n; ++r) touched[r] = 0;
    for (int64_t t = 0; t < q; ++t) {
        const int64_t i = triplets[3 * t], j = triplets[3 * t + 1], k = triplets[3 * t + 2];
        T* __restrict xi = caught_up<P, T>(X, mean, touched, i, t, step);
        T* __restrict xj = caught_up<P, T>(X, mean, touched, j, t, step);
        T* __restrict xk = caught_up<P, T>(X, mean, touched, k, t, step);
        const T *si = S + i * P, *sj = S + j * P, *sk = S + k * P;
        const Triplet<P, T> now(xi, xj, xk);
        const T a = T(2) * step * now.slope, b = T(2) * step * slopes[t];
        EACH_DIMENSION(d) {
            const T toward = a * now.toward[d] - b * (si[d] - sj[d]), away = a * now.away[d] - b * (si[d] - sk[d]);
            xi[d] -= toward - away;
            xj[d] += toward;
            xk[d] -= away;
        }
    }
    for (int64_t r = 0; r < n; ++r) caught_up<P, T>(X, mean, touched, r, q, step);
}

}  // namespace

#define EXPORT(P, T, NAME)                                                                                          \
    extern "C" double full_gradient_##P##_##NAME(const int32_t* triplets, int64_t q, const T* X, int64_t n, T* G) { \
        return full_gradient<P, T>(triplets, q, X, n, G);                                                           \
    }                                                                                                               \
    extern "C" void sgd_pass_##P##_##NAME(const int32_t* triplets, int64_t q, T* X, T step) {                       \
        sgd_pass<P, T>(triplets, q, X, step);                                                                       \
    }                                                                                                               \
    extern "C" void svrg_pass_##P##_##NAME(const int32_t* triplets, int64_t q, T* X, int64_t n, const T* S,         \
                                           const T* mean, const T* slopes, int64_t* touched, T step) {              \
        svrg_pass<P, T>(triplets, q, X, n, S, mean, slopes, touched, step);                                         \
    }

EXPORT(2, float, float32)
EXPORT(2, double, float64)
EXPORT(10, float, float32)
EXPORT(10, double, float64)
EXPORT(50, float, float32)
EXPORT(50, double, float64)
