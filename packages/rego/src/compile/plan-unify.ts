import { equal } from '../value/value.ts'
import { findUnbound, visitExpression, type BindingState } from './bindings.ts'
import type { Expression, Reference, Variable } from './ir.ts'

/** Steps of a unification in order: each may use the variables that earlier ones bind. */
export type UnifyStep =
  | { readonly type: 'assign'; readonly variable: Variable; readonly from: Expression }
  | { readonly type: 'equal'; readonly left: Expression; readonly right: Expression }
  | { readonly type: 'match'; readonly pattern: Expression; readonly from: Expression }
  | { readonly type: 'enumerate'; readonly reference: Reference; readonly pattern: Expression }
  /** The two sides cannot be equal, whatever is bound. */
  | { readonly type: 'never' }

export interface UnifyPlan {
  readonly steps: readonly UnifyStep[]
  readonly binds: ReadonlySet<Variable>
}

type Pair = readonly [left: Expression, right: Expression]

/** Plans a unification. Undefined if it needs a variable that neither side binds. */
export function planUnify(pair: Pair, known: BindingState): UnifyPlan | undefined {
  const bound = new Set(known.bound)
  const within: BindingState = { bound, visible: known.visible }
  const binds = new Set<Variable>()
  const bind = (expression: Expression) => {
    for (const variable of patternVariables(expression))
      if (!bound.has(variable)) {
        bound.add(variable)
        binds.add(variable)
      }
  }
  const steps: UnifyStep[] = []
  let open: Pair[] = [pair]
  while (open.length > 0) {
    const left: Pair[] = []
    const before = steps.length
    const count = open.length
    for (const [a, b] of open) {
      const parts = decompose(a, b, within)
      if (parts === 'never') return { steps: [{ type: 'never' }], binds: allOf(pair, known) }
      if (parts !== undefined) {
        left.push(...parts)
        continue
      }
      const step = planPair(a, b, within)
      if (step === undefined) left.push([a, b])
      else {
        steps.push(step)
        for (const side of [a, b]) bind(side)
      }
    }
    if (steps.length === before && left.length === count && samePairs(left, open)) return undefined
    open = left
  }
  return { steps, binds }
}

function samePairs(a: readonly Pair[], b: readonly Pair[]): boolean {
  return a.every((pair, at) => pair[0] === b[at]?.[0] && pair[1] === b[at]?.[1])
}

/** A unification that never holds binds everything: nothing after it runs. */
function allOf(pair: Pair, known: BindingState): ReadonlySet<Variable> {
  const found = new Set<Variable>()
  for (const side of pair)
    visitExpression(side, {
      direct: (variable) => {
        if (!known.bound.has(variable)) found.add(variable)
      },
      inner: () => undefined,
    })
  return found
}

function planPair(a: Expression, b: Expression, known: BindingState): UnifyStep | undefined {
  const isBoundA = findUnbound(a, known) === undefined
  const isBoundB = findUnbound(b, known) === undefined
  if (isBoundA && isBoundB) return { type: 'equal', left: a, right: b }
  if (isBoundA) return planFrom(a, b, known)
  if (isBoundB) return planFrom(b, a, known)
  if (canEnumerate(a, known) && canMatch(b, known)) return enumerate(a, b)
  if (canEnumerate(b, known) && canMatch(a, known)) return enumerate(b, a)
  return undefined
}

/** One side has a value, the other takes it apart. */
function planFrom(
  from: Expression,
  pattern: Expression,
  known: BindingState,
): UnifyStep | undefined {
  if (pattern.type === 'var') return { type: 'assign', variable: pattern.variable, from }
  if (canEnumerate(pattern, known)) return enumerate(pattern, from)
  return canMatch(pattern, known) ? { type: 'match', pattern, from } : undefined
}

function enumerate(reference: Reference, pattern: Expression): UnifyStep {
  return { type: 'enumerate', reference, pattern }
}

/** A reference whose unbound variables can be found by going through documents. */
export function canEnumerate(expression: Expression, known: BindingState): expression is Reference {
  if (expression.type !== 'reference') return false
  if (typeof expression.root !== 'string' && findUnbound(expression.root, known) !== undefined)
    return false
  return expression.path.every((item) => canMatch(item, known))
}

/** Whether a value can be taken apart by the pattern: what is no name in it must be bound. */
export function canMatch(pattern: Expression, known: BindingState): boolean {
  switch (pattern.type) {
    case 'var':
      return true
    case 'array':
      return pattern.items.every((item) => canMatch(item, known))
    case 'object':
      return pattern.entries.every(
        ([key, value]) => findUnbound(key, known) === undefined && canMatch(value, known),
      )
    default:
      return findUnbound(pattern, known) === undefined
  }
}

/** Variables that matching or enumerating the expression binds. */
export function patternVariables(expression: Expression): readonly Variable[] {
  switch (expression.type) {
    case 'var':
      return [expression.variable]
    case 'array':
      return expression.items.flatMap(patternVariables)
    case 'object':
      return expression.entries.flatMap(([, value]) => patternVariables(value))
    case 'reference':
      return expression.path.flatMap(patternVariables)
    default:
      return []
  }
}

/** Two composites are unified part by part, unless one of them is bound as a whole. */
function decompose(
  a: Expression,
  b: Expression,
  known: BindingState,
): readonly Pair[] | 'never' | undefined {
  if (a.type === 'array' && b.type === 'array') {
    if (a.items.length !== b.items.length) return 'never'
    if (isWholeBound(a, b, known)) return undefined
    return a.items.flatMap((item, at) => pairOf(item, b.items[at]))
  }
  if (a.type === 'object' && b.type === 'object') {
    if (isWholeBound(a, b, known)) return undefined
    return decomposeObjects(a, b)
  }
  const isMismatch =
    (a.type === 'array' && b.type === 'object') || (a.type === 'object' && b.type === 'array')
  return isMismatch ? 'never' : undefined
}

function isWholeBound(a: Expression, b: Expression, known: BindingState): boolean {
  return findUnbound(a, known) === undefined && findUnbound(b, known) === undefined
}

function pairOf(a: Expression, b: Expression | undefined): readonly Pair[] {
  return b === undefined ? [] : [[a, b]]
}

function decomposeObjects(
  a: Expression & { type: 'object' },
  b: Expression & { type: 'object' },
): readonly Pair[] | 'never' | undefined {
  const pairs: Pair[] = []
  if (a.entries.length !== b.entries.length) return undefined
  for (const [key, value] of a.entries) {
    if (key.type !== 'constant') return undefined
    const other = b.entries.find(
      ([name]) => name.type === 'constant' && equal(name.value, key.value),
    )
    if (other !== undefined) pairs.push([value, other[1]])
    else if (b.entries.every(([name]) => name.type === 'constant')) return 'never'
    else return undefined
  }
  return pairs
}
