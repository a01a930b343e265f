import { directVariables, visitExpression } from '../compile/bindings.ts'
import type { Comprehension, Goal, Variable } from '../compile/ir.ts'
import { reorderForSafety } from '../compile/safety.ts'
import { COMPREHENSION_INDEX_FROM } from '../limits.ts'
import { RegoCompileError } from '../syntax/source.ts'
import { EMPTY_OBJECT, EMPTY_SET, type Key, keyOf, type Value } from '../value/value.ts'
import { nestedContext, type CodegenContext } from './codegen.ts'
import { Collector } from './collector.ts'
import {
  Frame,
  type ComprehensionCache,
  type Env,
  type ValueThunk,
  type Step,
  EvaluationAborted,
} from './env.ts'

/** Compiles a comprehension: runs the body and collects the head for every solution. */
export function compileComprehension(coder: CodegenContext, term: Comprehension): ValueThunk {
  const place = coder.counter.collectors++
  const run = coder.compileGoals(nestedContext(coder, term.body), term.body, (inner) =>
    compileGather(inner, term, place),
  )
  const plain: ValueThunk = (frame) => {
    const collector = new Collector()
    frame.collectors ??= []
    frame.collectors[place] = collector
    run(frame)
    return gathered(term.makes, collector)
  }
  // A trace reports every run, and an index is not built from other indexes.
  if (coder.program.isTraced || coder.isIndexing) return plain
  const shared = sharedVariables(coder, term)
  return shared.length === 0 ? memoize(term, plain) : useIndex(coder, term, { shared, plain })
}

function gathered(makes: Comprehension['makes'], collector: Collector): Value {
  if (makes === 'array') return collector.list
  return makes === 'set' ? collector.set.build() : collector.document.build()
}

function emptyOf(makes: Comprehension['makes']): Value {
  if (makes === 'array') return []
  return makes === 'set' ? EMPTY_SET : EMPTY_OBJECT
}

function collectorAt(frame: Frame, place: number): Collector {
  const collector = frame.collectors?.[place]
  if (collector === undefined) throw new RangeError('a comprehension runs with its collector set')
  return collector
}

function compileGather(coder: CodegenContext, term: Comprehension, place: number): Step {
  const head = coder.compileExpression(coder, term.head)
  switch (term.makes) {
    case 'array':
      return (frame) => {
        const value = head(frame)
        frame.env.shared.step()
        if (value !== undefined) collectorAt(frame, place).list.push(value)
        return false
      }
    case 'set':
      return (frame) => {
        const value = head(frame)
        frame.env.shared.step()
        if (value !== undefined) collectorAt(frame, place).set.add(value)
        return false
      }
    case 'object': {
      const key = term.key === undefined ? head : coder.compileExpression(coder, term.key)
      return (frame) => {
        frame.env.shared.step()
        const name = key(frame)
        const value = head(frame)
        if (name === undefined || value === undefined) return false
        if (collectorAt(frame, place).document.put([name], value) === undefined)
          throw new EvaluationAborted({
            code: 'eval_conflict_error',
            message: 'object keys must be unique',
            location: coder.source.locate(term.at),
          })
        return false
      }
    }
  }
}

/**
 * Returns the outer variables that the comprehension reads, if its value depends on nothing else.
 */
function sharedVariables(coder: CodegenContext, term: Comprehension): readonly Variable[] {
  const found = new Set<Variable>()
  const note = (variable: Variable): void => {
    if (coder.bound.has(variable)) found.add(variable)
  }
  visitExpression(term, { direct: note, inner: note })
  return [...found]
}

function memoryOf(env: Env, term: Comprehension): ComprehensionCache {
  env.comprehensions ??= new Map()
  let memory = env.comprehensions.get(term)
  if (memory === undefined) {
    memory = { runCount: 0, index: undefined }
    env.comprehensions.set(term, memory)
  }
  return memory
}

/** Caches the value, which is constant within a scope. */
function memoize(term: Comprehension, plain: ValueThunk): ValueThunk {
  return (frame) => {
    const memory = memoryOf(frame.env, term)
    const known = memory.index?.get(null)
    if (known !== undefined) return known
    const value = plain(frame)
    if (value !== undefined) memory.index = new Map([[null, value]])
    return value
  }
}

interface Indexed {
  readonly shared: readonly Variable[]
  readonly plain: ValueThunk
}

/**
 * A comprehension that runs repeatedly in one scope is run once more with its shared variables
 * unbound, and its solutions are grouped by their values: grouping stays linear.
 */
function useIndex(
  coder: CodegenContext,
  term: Comprehension,
  { shared, plain }: Indexed,
): ValueThunk {
  const outer: CodegenContext = { ...coder, bound: new Set(coder.bound) }
  let build: ((frame: Frame) => ReadonlyMap<Key, Value>) | undefined
  let isTried = false
  const only = shared.length === 1 ? shared[0]?.slot : undefined
  const keyIn = (frame: Frame): Key =>
    only === undefined
      ? keyOf(shared.map(({ slot }) => frame.slots[slot] ?? null))
      : keyOf(frame.slots[only] ?? null)
  return (frame) => {
    const memory = memoryOf(frame.env, term)
    if (memory.index === undefined) {
      if (++memory.runCount <= COMPREHENSION_INDEX_FROM) return plain(frame)
      if (!isTried) build = compileIndex(outer, term, { shared, keyIn })
      isTried = true
      if (build === undefined) return plain(frame)
      memory.index = build(frame)
    }
    return memory.index.get(keyIn(frame)) ?? emptyOf(term.makes)
  }
}

interface IndexParts {
  readonly shared: readonly Variable[]
  readonly keyIn: (frame: Frame) => Key
}

/** Undefined if the body cannot bind the shared variables by itself. */
function compileIndex(
  coder: CodegenContext,
  term: Comprehension,
  { shared, keyIn }: IndexParts,
): ((frame: Frame) => ReadonlyMap<Key, Value>) | undefined {
  const goals = reorderWithUnboundVariables(coder, term, shared)
  if (goals === undefined) return undefined
  const place = coder.counter.collectors++
  const inner: CodegenContext = {
    ...coder,
    isIndexing: true,
    bound: new Set(),
    visible: new Set([...coder.visible, ...shared, ...directVariables(goals)]),
  }
  const run = coder.compileGoals(inner, goals, (after) => {
    const gather = compileGather(after, term, place)
    return (frame) => {
      const key = keyIn(frame)
      let collector = frame.groups?.get(key)
      if (collector === undefined) {
        collector = new Collector()
        frame.groups?.set(key, collector)
      }
      frame.collectors ??= []
      frame.collectors[place] = collector
      return gather(frame)
    }
  })
  return (outer) => {
    const frame = new Frame(outer.env, outer.slots.length)
    const groups = new Map<Key, Collector>()
    frame.groups = groups
    run(frame)
    const index = new Map<Key, Value>()
    for (const [key, collector] of groups) index.set(key, gathered(term.makes, collector))
    return index
  }
}

/** Returns the body in an order that also binds the shared variables. */
function reorderWithUnboundVariables(
  coder: CodegenContext,
  term: Comprehension,
  shared: readonly Variable[],
): readonly Goal[] | undefined {
  try {
    const open = { bound: new Set<Variable>(), visible: new Set([...coder.visible, ...shared]) }
    const trouble = { source: coder.source, at: term.at }
    const { goals, known } = reorderForSafety(term.body.map(asUnification), open, trouble)
    return shared.every((variable) => known.bound.has(variable)) ? goals : undefined
  } catch (error) {
    if (error instanceof RegoCompileError) return undefined
    throw error
  }
}

/**
 * Converts `a == b` to a unification, which may bind `b`, because the original order proves that
 * both are bound.
 */
function asUnification(goal: Goal): Goal {
  if (goal.type !== 'test' || goal.term.type !== 'call' || goal.term.name !== 'equal') return goal
  const [left, right] = goal.term.operands
  if (left === undefined || right === undefined) return goal
  return { type: 'unify', left, right, declares: false, at: goal.at, with: goal.with }
}
