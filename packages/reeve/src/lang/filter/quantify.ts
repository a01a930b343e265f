import { selectorText, type Quantifier } from './ast.ts'
import { INTEGER, STRING, type FieldKinds } from './field-kinds.ts'
import { failed } from './filter-error.ts'
import { isAbsentCollection, isMap, TOO_MUCH_WORK, type Verdict } from './match.ts'
import type { BoundName, Reader, Run, Scope } from './select.ts'

/**
 * A quantifier owns two slots of the row context: one for the key or single name, one for the
 * value.
 */
const SLOTS = 2

/** `any` and `all`: binds each element of a list or map in turn and evaluates the body. */
export function quantifierOver(
  quantifier: Quantifier,
  reader: Reader,
  inner: { readonly scope: Scope; readonly body: (run: Run) => Verdict },
): (run: Run) => Verdict {
  const { kinds } = reader
  const slot = (inner.scope.depth - 1) * SLOTS
  const isSingle = quantifier.binding.form === 'single'
  // The result if no element decides. The first deciding element or error ends the loop.
  const undecided = quantifier.kind === 'all'
  const unfit = failed(`${selectorText(quantifier.selector)} is not a list or a map`)

  const ask = (run: Run, first: unknown, second: unknown): Verdict => {
    run.steps -= 1
    if (run.steps < 0) return TOO_MUCH_WORK
    run.bound[slot] = first
    run.bound[slot + 1] = second
    return inner.body(run)
  }
  return (run) => {
    const value = reader.read(run)
    if (value === undefined) {
      const reason = reader.explain(run)
      return reason === 'missing-key' ? undecided : reason
    }
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) {
        const verdict = ask(run, isSingle ? value[index] : index, value[index])
        if (verdict !== undecided) return verdict
      }
      return undecided
    }
    if (isAbsentCollection(value, kinds)) return undecided
    if (!isMap(value, kinds)) return unfit
    // Sorted, so that the first failing element is the same on every server.
    for (const key of Object.keys(value).toSorted()) {
      const verdict = ask(run, key, value[key])
      if (verdict !== undecided) return verdict
    }
    return undecided
  }
}

/** The scope of the body: inner names shadow outer ones and the fields of the row. */
export function scopeInside<S extends Scope>(
  quantifier: Quantifier,
  over: FieldKinds,
  scope: S,
): S {
  const slot = scope.depth * SLOTS
  const { binding } = quantifier
  const bindings = new Map<string, BoundName>(scope.bindings)
  if (binding.form === 'single') {
    // A single name is the element of a list, but the key of a map.
    const kinds = over.kind === 'map' ? STRING : elementKinds(over)
    bindings.set(binding.name, { slot, kinds })
  } else {
    if (binding.key !== undefined) bindings.set(binding.key, { slot, kinds: keyKinds(over) })
    if (binding.value !== undefined)
      bindings.set(binding.value, { slot: slot + 1, kinds: elementKinds(over) })
  }
  return { ...scope, bindings, depth: scope.depth + 1 }
}

/** Elements of an untyped value are untyped. */
function elementKinds(over: FieldKinds): FieldKinds {
  return over.kind === 'list' || over.kind === 'map' ? over.of : over
}

function keyKinds(over: FieldKinds): FieldKinds {
  if (over.kind === 'list') return INTEGER
  return over.kind === 'map' ? STRING : over
}
