//! The short programs among the examples, each against what is known of its answer.

macro_rules! programs {
    ($($(#[$when:meta])* $name:ident = $path:literal;)*) => { $(
        $(#[$when])*
        #[path = $path]
        #[expect(dead_code, reason = "an example's `main` is not called here")]
        pub mod $name;
    )* };
}
programs! {
    american_option = "../../examples/american_option.rs";
    bundle_adjustment = "../../examples/bundle_adjustment.rs";
    collocation = "../../examples/collocation.rs";
    gaussian_process = "../../examples/gaussian_process.rs";
    inverse_kinematics = "../../examples/inverse_kinematics.rs";
    laplace_hmc = "../../examples/laplace_hmc.rs";
    orbit = "../../examples/orbit.rs";
    sabr = "../../examples/sabr.rs";
    yield_curve = "../../examples/yield_curve.rs";
}

use wengert::prelude::*;

/// Within this part of the wanted number, or of 1.
#[track_caller]
fn assert_near(got: f64, wanted: f64, part: f64) {
    assert!((got - wanted).abs() <= part * wanted.abs().max(1.0), "{got} where {wanted} is expected");
}

/// What a report prints.
fn printed(report: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut text = Vec::new();
    report(&mut text).expect("a vector takes everything");
    String::from_utf8(text).expect("reports are text")
}

#[test]
fn sabr_finds_the_parameters_of_published_quotes() {
    use sabr::*;
    for (strike, quote) in SMILE {
        // As accurate as the library that published them asks for.
        assert_near(volatility(strike, [0.3, 0.02, 0.01]), quote, 2e-13);
    }
    // At the money, the series: equation 2.18 of the paper.
    let (a, f): (f64, f64) = (0.3, FORWARD.powf(0.4));
    let correction = 0.16 / 24.0 * (a / f).powi(2) + 0.25 * 0.01 * 0.6 * 0.02 * a / f + (2.0 - 3e-4) / 24.0 * 4e-4;
    assert_near(volatility(FORWARD, [a, 0.02, 0.01]), a / f * (1.0 + correction), 1e-14);
    let found = calibrate([0.45, 0.6, 0.0]);
    let [alpha, nu, rho] = found.parameters;
    assert!(found.worst < 1e-12, "{}", found.worst);
    // The quotes have 15 digits, and depend on ν and ρ so little that some are lost.
    for (got, wanted) in [(alpha, 0.3), (nu, 0.02), (rho, 0.01)] {
        assert_near(got, wanted, 1e-7);
    }
    wengert::check::check_grads([0.3, 0.4, -0.2], |p| volatility(0.06, p)).unwrap();
}

#[test]
fn a_swap_at_its_quote_has_one_delta_and_known_gammas() {
    use yield_curve::*;
    for (k, (end, rate)) in QUOTES.into_iter().enumerate() {
        let swap = [Swap { notional: 1.0, start: 0, end, rate }];
        let (v, deltas, gammas) = value_grad_and_hessian(RATES, |quotes| value(&swap, quotes));
        // V = (s - K) A with the annuity A, at s = K.
        let annuity = |quotes: [f64; 6]| discount_factors(quotes)[1..=end].iter().sum::<f64>();
        let slope = |l: usize| {
            let at = |h: f64| annuity(std::array::from_fn(|i| RATES[i] + if i == l { h } else { 0.0 }));
            (at(1e-5) - at(-1e-5)) / 2e-5
        };
        assert_near(v, 0.0, 1e-15);
        for l in 0..6 {
            assert_near(deltas[l], if l == k { annuity(RATES) } else { 0.0 }, 1e-13);
            for (m, &gamma) in gammas[l].iter().enumerate() {
                let wanted = if l == k { slope(m) } else { 0.0 } + if m == k { slope(l) } else { 0.0 };
                assert_near(gamma, wanted, 1e-7);
            }
        }
    }
    assert!(printed(report).contains("by deltas"));
}

#[test]
fn american_options_are_worth_what_is_published() {
    use american_option::*;
    // J. C. Hull, Options, Futures, and Other Derivatives, has these values of trees.
    let hull = Put { strike: 50.0, expiry: 5.0 / 12.0 };
    for (steps, wanted) in [(30, 4.263), (100, 4.278), (500, 4.283)] {
        let v = value(hull, [50.0, 0.4, 0.1], steps);
        assert!((v - wanted).abs() < 5e-4, "{v} where {wanted} is published");
    }
    // F. A. Longstaff and E. S. Schwartz, Valuing American options by simulation (2001), table 1, exercised 50 times a year,
    // which is worth up to a cent less: spot, volatility, years, value, for the strike 40 at 6 percent.
    for (spot, volatility, expiry, wanted) in
        [(36.0, 0.2, 1.0, 4.478), (36.0, 0.4, 2.0, 8.508), (40.0, 0.2, 2.0, 2.885), (44.0, 0.4, 1.0, 3.948)]
    {
        let put = Put { strike: 40.0, expiry };
        let market = [spot, volatility, 0.06];
        let (v, slopes) = value_and_grad(market, |m| value(put, m, 200));
        assert!(v > wanted - 0.005 && v < wanted + 0.015, "{v} where {wanted} is published");
        for (k, slope) in slopes.into_iter().enumerate() {
            let at = |h: f64| value(put, std::array::from_fn(|i| market[i] + if i == k { h } else { 0.0 }), 200);
            assert_near(slope, (at(1e-6) - at(-1e-6)) / 2e-6, 1e-5);
        }
    }
    // Without early exercise the tree tends to the formula, and its gamma does.
    let (put, market) = (Put { strike: 50.0, expiry: 0.5 }, [52.0, 0.3, 0.0]);
    let exact = hessian(market, |m| european(put, m))[0][0];
    assert_near(value(put, market, 400), european(put, market), 2e-3);
    assert!((gamma(put, market, 400) - exact).abs() < 0.01 * exact, "{} and {exact}", gamma(put, market, 400));
    // Straight pieces: the second derivative of the tree itself is zero.
    assert_eq!(hessian(52.0, |s| value(put, [s, lift(0.3), lift(0.0)], 20)), 0.0);
}

#[test]
fn the_pendulum_swings_up_with_the_least_effort() {
    use collocation::*;
    let pi = std::f64::consts::PI;
    // Without gravity u falls along a line from 6 pi/T^2 to minus that: the effort is 12 pi^2/T^3, as 1/n^2 is left out.
    let exact = 12.0 * pi.powi(2) / HORIZON.powi(3);
    let errors = [8, 16].map(|n| swing_up(n, 0.0).effort / exact - 1.0);
    assert!(errors[0].abs() < 0.07 && (errors[0] / errors[1] - 4.0).abs() < 0.2, "{errors:?}");
    // With it the angle leaves to the wrong side first, and an integrator arrives where it should, but for 1/n^2.
    let missed = [16, 32].map(|n| {
        let found = swing_up(n, 9.81);
        assert!(found.path[0].iter().any(|&angle| angle < -0.5));
        simulate(&found.path[2], 9.81)[0] - pi
    });
    assert!(missed[1].abs() < 0.13 && missed[0].abs() > 2.0 * missed[1].abs(), "{missed:?}");
}

#[test]
fn mars_is_found_through_a_thousand_steps() {
    use orbit::*;
    let text = printed(|out| {
        for (found, wanted) in report(out)?.into_iter().zip([AXIS, ECCENTRICITY, AXIS.powf(1.5)]) {
            assert_near(found, wanted, 1e-8);
        }
        Ok(())
    });
    assert!(text.contains("pull of sun"));
    // Predictions from the perihelion, where Kepler's equation begins.
    let speed = (PULL / AXIS * (1.0 + ECCENTRICITY) / (1.0 - ECCENTRICITY)).sqrt();
    let truth = [AXIS * (1.0 - ECCENTRICITY), 0.0, 0.0, speed, PULL];
    let (places, slopes) = value_and_jacobian(truth, predict);
    for (place, seen) in places.iter().flatten().zip(observations().iter().flatten()) {
        assert_near(*place, *seen, 1e-9);
    }
    for k in 0..5 {
        let h = 1e-6;
        let [above, below] = [h, -h].map(|h| predict(std::array::from_fn(|i| truth[i] + if i == k { h } else { 0.0 })));
        for (row, slope) in slopes.iter().enumerate() {
            for i in 0..2 {
                assert_near(slope[i][k], (above[row][i] - below[row][i]) / (2.0 * h), 1e-7);
            }
        }
    }
}

#[test]
fn the_challenger_posterior_has_its_published_mode_and_its_moments() {
    use laplace_hmc::*;
    let laplace = laplace();
    // Maximum and standard errors as every textbook that fits the 23 flights has them.
    for (got, wanted) in laplace.mode.into_iter().zip([15.0429, -0.2322]) {
        assert!((got - wanted).abs() < 5e-5, "{got}");
    }
    for (got, wanted) in laplace.deviations().into_iter().zip([7.3786, 0.1082]) {
        assert!((got - wanted).abs() < 1e-4, "{got}");
    }
    // Moments by a sum over a grid in round coordinates.
    let grid: Vec<[f64; 2]> =
        (-60..=90).flat_map(|i| (-90..=60).map(move |j| [f64::from(i) * 0.1, f64::from(j) * 0.1])).collect();
    let weighted: Vec<(f64, [f64; 2])> = grid
        .into_iter()
        .map(|at| laplace.place(at))
        .map(|at| ((potential(laplace.mode) - potential(at)).exp(), at))
        .collect();
    let sum: f64 = weighted.iter().map(|(w, _)| w).sum();
    let mean = [0, 1].map(|k| weighted.iter().map(|(w, at)| w * at[k]).sum::<f64>() / sum);
    let width =
        [0, 1].map(|k| (weighted.iter().map(|(w, at)| w * (at[k] - mean[k]).powi(2)).sum::<f64>() / sum).sqrt());
    let (samples, accepted) = sample(&laplace, 4000, 7);
    let [got, deviation] = moments(&samples);
    assert!(accepted > 0.8, "{accepted}");
    for k in 0..2 {
        // Five standard errors of 2,000 independent samples: leaps leave neighbours nearly independent.
        assert!((got[k] - mean[k]).abs() < 5.0 * width[k] / 2000f64.sqrt(), "{got:?}, {mean:?}");
        assert!((deviation[k] / width[k] - 1.0).abs() < 0.1, "{deviation:?}, {width:?}");
        // And that is not Laplace's: the posterior is skewed.
        assert!((mean[k] - laplace.mode[k]).abs() > 0.1 * width[k]);
    }
}

#[test]
fn the_hand_gets_there_and_its_jacobian_is_the_geometric_one() {
    use inverse_kinematics::*;
    use nalgebra::{Isometry3, Translation3, UnitQuaternion};
    let pose = UnitQuaternion::from_euler_angles(0.4, 2.6, -0.8);
    let target = Isometry3::from_parts(Translation3::new(0.42, -0.18, 0.55), pose);
    let start = Angles::from_row_slice(&[0.1, 0.4, 0.1, -1.2, 0.1, 0.6, 0.1]);
    let (_, jacobian) = error_and_jacobian(&start, &target);
    let frames = frames(&start);
    for k in 0..7 {
        // A joint turns the hand around its axis: the hand moves by axis x arm.
        let axis = frames[k].rotation * nalgebra::Vector3::z();
        let moved = axis.cross(&(frames[7].translation.vector - frames[k].translation.vector));
        for i in 0..3 {
            assert_near(jacobian[(i, k)], -moved[i], 1e-14);
        }
    }
    let (angles, errors) = reach(start, &target);
    assert!(errors[errors.len() - 1] < 1e-13, "{errors:?}");
    let hand = inverse_kinematics::frames(&angles)[7];
    assert!((hand.translation.vector - target.translation.vector).norm() < 1e-13);
    assert!(hand.rotation.angle_to(&target.rotation) < 1e-7);
    // At the target itself the error is smooth, unlike an angle.
    wengert::check::check_grads(<[f64; 7]>::from(angles), |q| {
        error(&Angles::from(q), &nalgebra::convert(target)).norm_squared()
    })
    .unwrap();
}

#[test]
fn a_bundle_is_adjusted_until_nothing_is_missed() {
    use bundle_adjustment::*;
    // A quarter turn around z takes x to y; the picture is upside down, and distorted by 1 + r² k1 + r⁴ k2.
    let quarter = std::f64::consts::FRAC_PI_2;
    let [u, v] = project([0.0, 0.0, quarter, 0.0, 0.0, -2.0, 100.0, 0.1, 0.01], [1.0, 0.0, 0.0]);
    assert_near(u, 0.0, 1e-12);
    assert_near(v, 100.0 * 0.5 * (1.0 + 0.25 * 0.1 + 0.0625 * 0.01), 1e-14);
    // The series next to no rotation continues the formula.
    let camera = |t: f64| [t, -t, t, 0.1, 0.2, -3.0, 100.0, 0.1, 0.01];
    for (t, point) in [(5.7e-7, [1.0, 2.0, 0.5]), (5.8e-7, [1.0, 2.0, 0.5])] {
        wengert::check::check_grads((camera(t), point), |(c, p)| project(c, p)[0] + project(c, p)[1]).unwrap();
    }
    let scene = Scene::made_up(3, 12);
    assert!(scene.cost() == 0.0 && scene.disturbed().cost() > 100.0);
    let (adjusted, costs) = adjust(&scene.disturbed());
    assert!(adjusted.cost() < 1e-16, "{costs:?}");
    assert!(costs.windows(2).all(|pair| pair[1] < pair[0]));
}

#[test]
fn the_nile_has_its_published_variances() {
    use gaussian_process::*;
    use nalgebra::{DMatrix, DVector};
    // By the Kalman filter: Durbin and Koopman, section 2.10.
    let picture = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("nile_process.svg");
    let found = report(&mut Vec::new(), &picture).unwrap();
    assert!((found.variances[0] / 15099.0 - 1.0).abs() < 2e-3, "{:?}", found.variances);
    assert!((found.variances[1] / 1469.1 - 1.0).abs() < 5e-3, "{:?}", found.variances);
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(svg.contains("level, given all years") && !svg.contains("NaN"));
    let flows = nile::flows();
    // Given all years, the level of one has the mean and variance of a normal vector of which the flows are known.
    let known = covariance(found.variances.map(f64::ln), 100);
    let signal = &known - DMatrix::identity(100, 100) * found.variances[0];
    let weights = &signal * known.try_inverse().unwrap();
    let (means, left) = (&weights * DVector::from_row_slice(&flows), &signal - &weights * &signal);
    let got = levels(found.variances, &flows);
    for year in [0, 37, 99] {
        assert_near(got.means[year], means[year], 1e-8);
        assert_near(got.deviations[year], left[(year, year)].sqrt(), 1e-6);
    }
    // The gradient is ½ tr(K⁻¹ dK) - ½ (K⁻¹ y)ᵀ dK (K⁻¹ y).
    let (flow, logs) = (&flows[..12], [9.0, 7.5]);
    let inverse = covariance(logs, 12).try_inverse().unwrap();
    let weights = &inverse * DVector::from_row_slice(flow);
    let step = DMatrix::from_fn(12, 12, |s, t| logs[1].exp() * s.min(t) as f64);
    let slopes = grad(logs, |logs| cost(logs, flow));
    for (slope, change) in slopes.into_iter().zip([DMatrix::identity(12, 12) * logs[0].exp(), step]) {
        let wanted = 0.5 * ((&inverse * &change).trace() - weights.dot(&(&change * &weights)));
        assert_near(slope, wanted, 1e-9);
    }
}
