import {
  areEqual,
  type CallContext,
  type FunctionValue,
  isFunction,
  isRule,
  ListValue,
  type RuleValue,
  typeOf,
  Undefined,
  type Value,
} from '../value/value.ts'
import type {
  AssignStatement,
  CaseStatement,
  ForStatement,
  FunctionExpression,
  IfStatement,
  RuleExpression,
  Statement,
} from '../syntax/ast.ts'
import type { Position, Source } from '../syntax/source.ts'
import { readIndex, writeIndex } from './access.ts'
import {
  BREAK,
  compileExpression,
  CONTINUE,
  NEXT,
  operatorContextAt,
  RETURN,
  type CompiledExpression,
  type CompletionKind,
  type CompileContext,
  type CompiledStatement,
} from './code.ts'
import { compileTracedOperand, expectBoolean } from './compile-logic.ts'
import { loopScope } from './compile-quantifier.ts'
import { eachElement, elementsOf, notIterableMessage } from './elements.ts'
import { calculate } from './operators.ts'
import type { EvaluationState, CodeLocation } from './state.ts'
import { assignedNames, frameAt, type Frame, Scope } from './scope.ts'

export function compileBlock(
  statements: readonly Statement[],
  maker: CompileContext,
): CompiledStatement {
  const steps = statements.map((statement) => compileReached(statement, maker))
  return (frame, run) => {
    for (const step of steps) {
      const ending = step(frame, run)
      if (ending !== NEXT) return ending
    }
    return NEXT
  }
}

/** Code that explains also records statement coverage. */
function compileReached(statement: Statement, maker: CompileContext): CompiledStatement {
  const step = compileStatement(statement, maker)
  if (!maker.explains) return step
  const { source } = maker
  const at = statement.spot.start
  return (frame, run) => {
    run.markCovered(source, at)
    return step(frame, run)
  }
}

function compileStatement(statement: Statement, maker: CompileContext): CompiledStatement {
  switch (statement.kind) {
    case 'assign':
      return compileAssign(statement, maker)
    case 'if':
      return compileIf(statement, maker)
    case 'case':
      return compileCase(statement, maker)
    case 'for':
      return compileFor(statement, maker)
    case 'named-function':
      return compileNamedFunction(statement, maker)
    case 'return':
      return compileReturn(statement.value, maker)
    case 'break':
      return () => BREAK
    case 'continue':
      return () => CONTINUE
    case 'expression':
      return compileEffect(statement.value, maker)
  }
}

function compileEffect(value: AssignStatement['value'], maker: CompileContext): CompiledStatement {
  const code = compileExpression(value, maker)
  return (frame, run) => {
    code(frame, run)
    return NEXT
  }
}

function compileReturn(value: AssignStatement['value'], maker: CompileContext): CompiledStatement {
  const code = compileTracedOperand(value, maker)
  return (frame, run) => {
    run.returned = code(frame, run)
    return RETURN
  }
}

function compileNamedFunction(
  statement: Extract<Statement, { kind: 'named-function' }>,
  maker: CompileContext,
): CompiledStatement {
  const slot = maker.scope.declare(statement.name.name)
  const code = compileFunction(statement.value, maker, statement.name.name)
  return (frame, run) => {
    frame.slots[slot] = code(frame, run)
    return NEXT
  }
}

function compileAssign(statement: AssignStatement, maker: CompileContext): CompiledStatement {
  if (statement.path.length > 0) return compileIndexAssign(statement, maker)
  const write = writerOf(statement.target.name, maker)
  const value = compileAssigned(statement, maker)
  if (statement.operator === undefined)
    return (frame, run) => {
      write(frame, value(frame, run))
      return NEXT
    }
  const change = compileChange(statement, maker)
  return (frame, run) => {
    write(frame, change(frame, run, value(frame, run)))
    return NEXT
  }
}

/** Compiles the right side. Rules and functions are named after the variable on the left. */
function compileAssigned(statement: AssignStatement, maker: CompileContext): CompiledExpression {
  const { value, target, description } = statement
  if (value.kind === 'rule') return compileRule(value, maker, { name: target.name, description })
  if (value.kind === 'function') return compileFunction(value, maker, target.name)
  return compileTracedOperand(value, maker)
}

/** Writes to the nearest scope that has the name, otherwise to the current one. */
function writerOf(name: string, maker: CompileContext): (frame: Frame, value: Value) => void {
  const own = maker.scope.declare(name)
  const outer = maker.scope.writablePlacesOf(name).filter(({ depth }) => depth > 0)
  if (outer.length === 0)
    return (frame, value) => {
      frame.slots[own] = value
    }
  return (frame, value) => {
    if (frame.slots[own] === undefined)
      for (const { depth, slot } of outer) {
        const { slots } = frameAt(frame, depth)
        if (slots[slot] === undefined) continue
        slots[slot] = value
        return
      }
    frame.slots[own] = value
  }
}

type Change = (frame: Frame, run: EvaluationState, value: Value) => Value

/** Compiles `x += y`. Lists grow in place. */
function compileChange(statement: AssignStatement, maker: CompileContext): Change {
  const { operator, target, spot } = statement
  const current = compileExpression({ kind: 'name', ...target }, maker)
  const place = operatorContextAt(maker.source, spot)
  return (frame, run, value) => changed(operator, [current(frame, run), value], place(run))
}

function changed(
  operator: AssignStatement['operator'],
  operands: readonly [Value, Value],
  context: Parameters<typeof calculate>[2],
): Value {
  const [current, value] = operands
  if (operator === undefined) return value
  if (operator === '+' && current instanceof ListValue && value instanceof ListValue) {
    context.run.allocate(value.items.length)
    // Copied, because a list may be appended to itself.
    const added = value === current ? value.items.slice() : value.items
    for (const item of added) current.items.push(item)
    return current
  }
  return calculate(operator, operands, context)
}

/** Evaluates the right side first, then the operands of the target. */
function compileIndexAssign(statement: AssignStatement, maker: CompileContext): CompiledStatement {
  const { target, path, operator, spot } = statement
  const value = compileExpression(statement.value, maker)
  const variable = compileExpression({ kind: 'name', ...target }, maker)
  const indexes = path.map((index) => compileExpression(index, maker))
  const place = operatorContextAt(maker.source, spot)
  return (frame, run) => {
    const context = place(run)
    const added = value(frame, run)
    let container = variable(frame, run)
    for (const index of indexes.slice(0, -1))
      container = readIndex(container, index(frame, run), context)
    const index = indexes.at(-1)?.(frame, run) ?? null
    const next =
      operator === undefined
        ? added
        : changed(operator, [readIndex(container, index, context), added], context)
    writeIndex({ container, index }, next, context)
    return NEXT
  }
}

function compileIf(statement: IfStatement, maker: CompileContext): CompiledStatement {
  const condition = compileExpression(statement.condition, maker)
  const then = compileBlock(statement.consequence, maker)
  const otherwise = compileBlock(statement.otherwise, maker)
  const site: CodeLocation = { source: maker.source, at: statement.condition.spot.start }
  return (frame, run) => {
    const value = quietly(run, () => condition(frame, run))
    if (value === true) return then(frame, run)
    if (value === false) return otherwise(frame, run)
    // Fails closed: the policy must not pass because of an undefined condition.
    return run.fail(site, 'the condition of "if" must be a bool; "… else false" gives it one')
  }
}

/** A condition that only selects a branch is not a reason for a rule to fail. */
function quietly(run: EvaluationState, evaluate: () => Value): Value {
  const mark = run.recorder?.checkpoint
  const value = evaluate()
  if (mark !== undefined) run.recorder?.rollback(mark)
  return value
}

function compileCase(statement: CaseStatement, maker: CompileContext): CompiledStatement {
  const subject =
    statement.subject === undefined ? () => true : compileExpression(statement.subject, maker)
  const clauses = statement.clauses.map(({ values, body }) => ({
    values: values.map((value) => compileExpression(value, maker)),
    body: compileBlock(body, maker),
  }))
  const otherwise = compileBlock(statement.otherwise ?? [], maker)
  return (frame, run) => {
    const value = quietly(run, () => subject(frame, run))
    const charge = (steps: number) => run.charge(steps)
    const isChosen = (code: CompiledExpression) =>
      areEqual(
        value,
        quietly(run, () => code(frame, run)),
        charge,
      ) === true
    const chosen = clauses.find(({ values }) => values.some(isChosen))
    return (chosen?.body ?? otherwise)(frame, run)
  }
}

function compileFor(statement: ForStatement, maker: CompileContext): CompiledStatement {
  const collection = compileExpression(statement.collection, maker)
  const { scope, bind } = loopScope(statement.variables, maker.scope)
  for (const name of assignedNames(statement.body)) scope.declare(name)
  const body = compileBlock(statement.body, { ...maker, scope })
  const site: CodeLocation = { source: maker.source, at: statement.collection.spot.start }
  return (frame, run) => {
    const found = collection(frame, run)
    const elements = elementsOf(found, () => run.fail(site, notIterableMessage(found)))
    if (elements.kind === 'undefined')
      return run.fail(site, '"for" cannot go through undefined; "… else []" gives it a list')
    const state: { ending: CompletionKind } = { ending: NEXT }
    eachElement(elements, run, (element) => {
      const own = scope.frame(frame)
      bind(own, element)
      state.ending = body(own, run)
      return state.ending === BREAK || state.ending === RETURN
    })
    return state.ending === RETURN ? RETURN : NEXT
  }
}

export function compileFunction(
  node: FunctionExpression,
  maker: CompileContext,
  name: string,
): CompiledExpression {
  const parameters = node.parameters.map((parameter) => parameter.name)
  const scope = new Scope(maker.scope, [...parameters, ...assignedNames(node.body)])
  const body = maker.compilers.block(node.body, { ...maker, scope })
  const site: CodeLocation = { source: maker.source, at: node.spot.start }
  // Not always the first slots: `_` may occur twice.
  const slots = parameters.map((parameter) => scope.declare(parameter))
  const shape = { name, scope, body, site, slots }
  return (frame, run) => new Closure(shape, frame, run)
}

interface FunctionShape {
  readonly name: string
  readonly scope: Scope
  readonly body: CompiledStatement
  readonly site: CodeLocation
  /** Slots of the parameters. */
  readonly slots: readonly number[]
}

class Closure implements FunctionValue {
  readonly isFunction = true
  readonly name: string
  readonly arity: readonly [number, number]
  readonly #shape: FunctionShape
  readonly #frame: Frame
  readonly #run: EvaluationState

  constructor(shape: FunctionShape, frame: Frame, run: EvaluationState) {
    this.name = shape.name
    this.arity = [shape.slots.length, shape.slots.length]
    this.#shape = shape
    this.#frame = frame
    this.#run = run
  }

  call(args: readonly Value[], _context: CallContext): Value {
    const { scope, body, site, slots } = this.#shape
    const run = this.#run
    const frame = scope.frame(this.#frame)
    for (const [index, value] of args.entries()) frame.slots[slots[index] ?? index] = value
    run.enter(site)
    const ending = body(frame, run)
    run.leave()
    if (ending !== RETURN) return run.fail(site, `${this.name} ends without "return"`)
    return run.returned
  }
}

/** Name of a rule in reports: the variable it is assigned to. */
interface RuleNaming {
  readonly name: string
  readonly description: string
}

/** Compiles `rule [when p] { e }`. */
export function compileRule(
  node: RuleExpression,
  maker: CompileContext,
  naming: RuleNaming | undefined,
): CompiledExpression {
  const when = node.when === undefined ? undefined : compileExpression(node.when, maker)
  const body = compileTracedOperand(node.body, maker)
  const site: CodeLocation = { source: maker.source, at: node.spot.start }
  const evaluate: CompiledExpression = (frame, run) => {
    const applies = when === undefined ? true : whenOf(when(frame, run), { run, site })
    if (applies !== true) return applies instanceof Undefined ? applies : true
    const mark = run.recorder?.checkpoint
    const value = body(frame, run)
    if (value === true && mark !== undefined) run.recorder?.rollback(mark)
    return value
  }
  const named = naming ?? { name: '', description: '' }
  return (frame, run) => new Rule({ evaluate, frame, run, site, naming: named })
}

function whenOf(
  value: Value,
  { run, site }: { run: EvaluationState; site: CodeLocation },
): boolean | Undefined {
  return expectBoolean(value, { run, site, what: '"when"' })
}

interface RuleParts {
  readonly evaluate: CompiledExpression
  readonly frame: Frame
  readonly run: EvaluationState
  readonly site: CodeLocation
  readonly naming: RuleNaming
}

class Rule implements RuleValue {
  readonly isRule = true
  readonly #parts: RuleParts
  #state: 'waiting' | 'running' | 'done' = 'waiting'
  #value: Value = null

  constructor(parts: RuleParts) {
    this.#parts = parts
  }

  force(): Value {
    if (this.#state === 'done') return this.#value
    const { run, site, naming } = this.#parts
    if (this.#state === 'running')
      return run.fail(site, `the rule ${JSON.stringify(naming.name)} needs its own value`)
    this.#state = 'running'
    this.#value = this.#evaluate()
    this.#state = 'done'
    return this.#value
  }

  #evaluate(): Value {
    const { evaluate, frame, run, site, naming } = this.#parts
    run.enter(site)
    const outcome =
      run.recorder === undefined
        ? { value: evaluate(frame, run), failures: [] }
        : run.recorder.scoped(() => evaluate(frame, run))
    run.leave()
    const { value, failures } = outcome
    if (isRule(value) || isFunction(value) || value === null)
      return run.fail(site, `a rule cannot have the value ${typeOf(value)}`)
    run.reports.push({ ...naming, position: positionOf(site), value, failures })
    return value
  }
}

function positionOf({ source, at }: { source: Source; at: number }): Position {
  return source.positionAt(at)
}
