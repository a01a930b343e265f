import { findUnbound } from '../compile/bindings.ts'
import type {
  EveryGoal,
  Goal,
  IterateGoal,
  LogicGoal,
  NotGoal,
  PrintGoal,
  TestGoal,
} from '../compile/ir.ts'
import { formatText } from '../value/format.ts'
import { isArray } from '../value/value.ts'
import { nestedContext, type CodegenContext } from './codegen.ts'
import { localsOf, type ValueThunk, type Frame, type Step, type MatchStep } from './env.ts'
import { eachEntry, isCollection } from './lookup.ts'
import { compileMatch } from './match.ts'
import { compileEnumeration } from './reference.ts'
import { compileUnify } from './unify.ts'
import { compileWith } from './with.ts'

/** A body: one closure that runs all its goals and, for every answer, `end`. */
export function compileGoals(
  coder: CodegenContext,
  goals: readonly Goal[],
  end: (coder: CodegenContext) => Step,
): Step {
  const [goal, ...rest] = goals
  if (goal === undefined) return end(coder)
  const buildNext = (after: CodegenContext) => compileGoals(after, rest, end)
  const compile = coder.program.isTraced ? compileTraced : compileGoal
  if (goal.with.length === 0) return compile(coder, goal, buildNext)
  return compileWith(coder, goal.with, (inner, leave) =>
    compile(inner, goal, (after) => leave(buildNext(after))),
  )
}

type CompileGoal = (
  coder: CodegenContext,
  goal: Goal,
  buildNext: (coder: CodegenContext) => Step,
) => Step

function compileGoal(
  coder: CodegenContext,
  goal: Goal,
  buildNext: (coder: CodegenContext) => Step,
): Step {
  switch (goal.type) {
    case 'test':
      return compileTest(coder, goal, buildNext)
    case 'unify':
      return compileUnify(coder, goal, buildNext)
    case 'iterate':
      return compileIterate(coder, goal, buildNext)
    case 'every':
      return compileEvery(coder, goal, buildNext)
    case 'not':
      return compileNot(coder, goal, buildNext)
    case 'and':
    case 'or':
      return compileLogic(coder, goal, buildNext)
    case 'print':
      return compilePrint(coder, goal, buildNext)
  }
}

/** Reports goals that had no answer, with the values of that moment. */
const compileTraced: CompileGoal = (coder, goal, buildNext) => {
  const variables = [...coder.bound]
  const place = { source: coder.source, at: goal.at }
  // One counter for each run of the goal that is under way: a rule may be run inside itself no
  // deeper than once, but its goals are run again for every answer before them.
  const answers: number[] = []
  const step = compileGoal(coder, goal, (after) => {
    const next = buildNext(after)
    return (frame) => {
      answers.push((answers.pop() ?? 0) + 1)
      return next(frame)
    }
  })
  return (frame) => {
    answers.push(0)
    const isEnough = step(frame)
    if (answers.pop() === 0)
      frame.env.shared.options.trace?.({
        type: 'failed-goal',
        place,
        locals: localsOf(frame, variables),
      })
    return isEnough
  }
}

function compileTest(
  coder: CodegenContext,
  goal: TestGoal,
  buildNext: (coder: CodegenContext) => Step,
): Step {
  const { term } = goal
  if (term.type === 'reference' && findUnbound(term, coder) !== undefined)
    return compileEnumeration(coder, term, (after) => {
      const next = buildNext(after)
      return (frame, value) => value !== false && next(frame)
    })
  const evaluate = coder.compileExpression(coder, term)
  const next = buildNext(coder)
  return (frame) => {
    const value = evaluate(frame)
    return value !== undefined && value !== false && next(frame)
  }
}

function compileIterate(
  coder: CodegenContext,
  goal: IterateGoal,
  buildNext: (coder: CodegenContext) => Step,
): Step {
  const domain = coder.compileExpression(coder, goal.domain)
  const key = goal.key === undefined ? undefined : compileMatch(coder, goal.key)
  const value = compileMatch(coder, goal.value)
  const next = buildNext(coder)
  if (key === undefined) return iterateValues(domain, value, next)
  return (frame) => {
    const { shared } = frame.env
    return eachEntry(domain(frame), (name, item) => {
      shared.step()
      return key(frame, name) && value(frame, item) && next(frame)
    })
  }
}

function iterateValues(domain: ValueThunk, match: MatchStep, next: Step): Step {
  return (frame) => {
    const { shared } = frame.env
    const collection = domain(frame)
    if (isArray(collection)) {
      for (const item of collection) {
        shared.step()
        if (match(frame, item) && next(frame)) return true
      }
      return false
    }
    return eachEntry(collection, (_, item) => {
      shared.step()
      return match(frame, item) && next(frame)
    })
  }
}

const found: Step = () => true

/** Whether a body has an answer; binds nothing outside. */
function compileExists(coder: CodegenContext, goals: readonly Goal[]): Step {
  return coder.compileGoals(nestedContext(coder, goals), goals, () => found)
}

function compileNot(
  coder: CodegenContext,
  goal: NotGoal,
  buildNext: (coder: CodegenContext) => Step,
): Step {
  const exists = compileExists(coder, goal.body)
  const next = buildNext(coder)
  return (frame) => !exists(frame) && next(frame)
}

function compileLogic(
  coder: CodegenContext,
  goal: LogicGoal,
  buildNext: (coder: CodegenContext) => Step,
): Step {
  const left = compileExists(coder, goal.left)
  const right = compileExists(coder, goal.right)
  const next = buildNext(coder)
  return goal.type === 'and'
    ? (frame) => left(frame) && right(frame) && next(frame)
    : (frame) => (left(frame) || right(frame)) && next(frame)
}

function compileEvery(
  coder: CodegenContext,
  goal: EveryGoal,
  buildNext: (coder: CodegenContext) => Step,
): Step {
  const domain = coder.compileExpression(coder, goal.domain)
  const inner = nestedContext(coder, goal.body)
  const keySlot = goal.key?.slot
  const valueSlot = goal.value.slot
  for (const own of goal.key === undefined ? [goal.value] : [goal.key, goal.value])
    inner.bound.add(own)
  const holds = coder.compileGoals(inner, goal.body, () => found)
  const next = buildNext(coder)
  return (frame) => {
    const collection = domain(frame)
    if (!isCollection(collection)) return false
    const fails = eachEntry(collection, (key, value) => {
      frame.env.shared.step()
      if (keySlot !== undefined) frame.slots[keySlot] = key
      frame.slots[valueSlot] = value
      return !holds(frame)
    })
    return !fails && next(frame)
  }
}

function compilePrint(
  coder: CodegenContext,
  goal: PrintGoal,
  buildNext: (coder: CodegenContext) => Step,
): Step {
  const operands = goal.operands.map((operand) => coder.compileComprehension(coder, operand))
  const next = buildNext(coder)
  return (frame) => {
    const { print } = frame.env.shared.options
    if (print !== undefined) print(operands.map((operand) => printed(frame, operand)).join(' '))
    return next(frame)
  }
}

function printed(frame: Frame, operand: ValueThunk): string {
  const values = operand(frame)
  const [first] = isArray(values) ? values : []
  return first === undefined ? '<undefined>' : formatText(first)
}
