//! Tests of what is private here.

use super::*;
use crate::array::Array;

/// The elements of a view of `0, 1, 2, …`.
fn elements(view: &View) -> Vec<f64> {
    let size = view.count();
    let strided = crate::array::Strided::new(&view.shape, &view.strides, view.offset);
    let found: Vec<f64> = strided.map(|k| k as f64).collect();
    assert_eq!(found.len(), size);
    found
}

#[test]
fn views_have_the_elements_of_the_operation() {
    let shape = [4, 3, 2];
    let ops: [Op; 7] = [
        Permute { order: vec![2, 0, 1] }.into(),
        Broadcast::new(&[4, 5, 3, 2], &[0, 2, 3]).into(),
        Slice::new(&[1, 0, 1], &[4, 3, 2], &[2, 1, 1]).into(),
        Reverse { axes: vec![0, 2] }.into(),
        Reshape::new(&[2, 2, 6]).into(),
        Reshape::new(&[1, 24]).into(),
        Slice::new(&[2, 0, 0], &[2, 3, 2], &[1, 1, 1]).into(),
    ];
    let whole = View::whole(Value(0), &shape);
    let array = Array::new(&shape, (0..24).map(f64::from).collect());
    for first in &ops {
        let Some(once) = whole.of(first) else { panic!("{first:?} is a view of what is in order") };
        let wanted = first.eval(&[&array]).unwrap().remove(0);
        assert_eq!(elements(&once), wanted.to_f64(), "{first:?}");
        for second in &ops {
            let fits = second.infer(&[wanted.ty()]).is_ok();
            if let (true, Some(twice)) = (fits, fits.then(|| once.of(second)).flatten()) {
                let wanted = second.eval(&[&wanted]).unwrap().remove(0);
                assert_eq!(
                    (elements(&twice), &twice.shape[..]),
                    (wanted.to_f64(), wanted.shape()),
                    "{first:?} {second:?}"
                );
            }
        }
    }
}

#[test]
fn reshapes_that_no_strides_can_say_are_no_views() {
    let whole = View::whole(Value(0), &[4, 6]);
    let turned = whole.of(&Permute { order: vec![1, 0] }.into()).unwrap();
    assert_eq!(turned.of(&Reshape::new(&[24]).into()), None);
    let split = turned.of(&Reshape::new(&[2, 3, 4]).into()).unwrap();
    assert_eq!(split.strides[..], [3, 1, 6]);
    assert!(whole.is_in_order() && !turned.is_in_order());
}

#[test]
fn repetition_is_seen() {
    let column = View::whole(Value(0), &[4]).of(&Broadcast::new(&[4, 7], &[0]).into()).unwrap();
    assert_eq!((column.spread(4), column.repeated()), (Some(7), None));
    let row = View::whole(Value(0), &[7]).of(&Broadcast::new(&[4, 7], &[1]).into()).unwrap();
    assert_eq!((row.spread(7), row.repeated()), (None, Some(7)));
    let all = View::whole(Value(0), &[]).of(&Broadcast::new(&[4, 7], &[]).into()).unwrap();
    assert_eq!((all.spread(1), all.repeated()), (Some(28), None));
}
