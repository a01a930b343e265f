import { selectorText, type Quantifier } from './ast.ts'
import { INTEGER, STRING, type FieldType } from './field-kinds.ts'
import { evaluationError } from './filter-error.ts'
import { isAbsentCollection, isMap, STEP_LIMIT_EXCEEDED, type MatchResult } from './match.ts'
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
  inner: { readonly scope: Scope; readonly body: (run: Run) => MatchResult },
): (run: Run) => MatchResult {
  const { type } = reader
  const slot = (inner.scope.depth - 1) * SLOTS
  const isSingle = quantifier.binding.form === 'single'
  // The result if no element decides. The first deciding element or error ends the loop.
  const undecided = quantifier.kind === 'all'
  const notCollection = evaluationError(
    `${selectorText(quantifier.selector)} is not a list or a map`,
  )

  const evaluateBody = (run: Run, first: unknown, second: unknown): MatchResult => {
    run.steps -= 1
    if (run.steps < 0) return STEP_LIMIT_EXCEEDED
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
        const verdict = evaluateBody(run, isSingle ? value[index] : index, value[index])
        if (verdict !== undecided) return verdict
      }
      return undecided
    }
    if (isAbsentCollection(value, type)) return undecided
    if (!isMap(value, type)) return notCollection
    // Sorted, so that the first failing element is the same on every server.
    for (const key of Object.keys(value).toSorted()) {
      const verdict = evaluateBody(run, key, value[key])
      if (verdict !== undecided) return verdict
    }
    return undecided
  }
}

/** The scope of the body: inner names shadow outer ones and the fields of the row. */
export function scopeInside<S extends Scope>(
  quantifier: Quantifier,
  collectionType: FieldType,
  scope: S,
): S {
  const slot = scope.depth * SLOTS
  const { binding } = quantifier
  const bindings = new Map<string, BoundName>(scope.bindings)
  if (binding.form === 'single') {
    // A single name is the element of a list, but the key of a map.
    const type = collectionType.kind === 'map' ? STRING : elementType(collectionType)
    bindings.set(binding.name, { slot, type })
  } else {
    if (binding.key !== undefined)
      bindings.set(binding.key, { slot, type: keyType(collectionType) })
    if (binding.value !== undefined)
      bindings.set(binding.value, { slot: slot + 1, type: elementType(collectionType) })
  }
  return { ...scope, bindings, depth: scope.depth + 1 }
}

/** Elements of an untyped value are untyped. */
function elementType(collectionType: FieldType): FieldType {
  return collectionType.kind === 'list' || collectionType.kind === 'map'
    ? collectionType.of
    : collectionType
}

function keyType(collectionType: FieldType): FieldType {
  if (collectionType.kind === 'list') return INTEGER
  return collectionType.kind === 'map' ? STRING : collectionType
}
