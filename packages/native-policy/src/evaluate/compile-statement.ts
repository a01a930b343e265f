import { areEqual } from '../value/equal.ts'
import { ListValue, type Value } from '../value/value.ts'
import type {
  AssignStatement,
  CaseStatement,
  ForStatement,
  IfStatement,
  Statement,
} from '../syntax/tree.ts'
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
import { compileFunction } from './compile-function.ts'
import { compileTracedOperand } from './compile-logic.ts'
import { loopScope } from './compile-quantifier.ts'
import { compileRule } from './compile-rule.ts'
import { eachElement, elementsOf, notIterableMessage } from './elements.ts'
import { calculate } from './operators.ts'
import type { EvaluationState, CodeLocation } from './run.ts'
import { assignedNames, frameAt, type Frame } from './scope.ts'

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
