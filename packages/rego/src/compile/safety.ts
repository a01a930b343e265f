import { TEST_CASE } from '../builtins/core.ts'
import { BODY_LITERALS_MAX } from '../limits.ts'
import type { Literal, Rule, Term } from '../syntax/ast.ts'
import {
  directVariables,
  findUnbound,
  findUnboundInGoal,
  findUnboundInReplacements,
  visitGoal,
  type BindingState,
} from './bindings.ts'
import type { Comprehension, Expression, Goal, Replacement, Variable } from './ir.ts'
import { canEnumerate, canMatch, patternVariables, planUnify } from './plan-unify.ts'
import { displayName } from './scope.ts'
import { throwCompileError, type ErrorSite } from './unit.ts'

interface Ordered {
  readonly goals: readonly Goal[]
  readonly known: BindingState
}

/**
 * Orders the goals so that every variable is bound before it is needed: repeatedly, in source
 * order, those that can run. Nested bodies are ordered too.
 */
export function reorderForSafety(
  goals: readonly Goal[],
  outer: BindingState,
  trouble: ErrorSite,
): Ordered {
  if (goals.length > BODY_LITERALS_MAX) throwCompileError(trouble, 'the body has too many literals')
  const bound = new Set(outer.bound)
  const visible = new Set([...outer.visible, ...directVariables(goals)])
  const known: BindingState = { bound, visible }
  const ordered: Goal[] = []
  let open = goals
  while (open.length > 0) {
    const left: Goal[] = []
    for (const goal of open) {
      const binds = findBindings(goal, known)
      if (binds === undefined) {
        left.push(goal)
        continue
      }
      ordered.push(reorderNested(goal, known, trouble))
      for (const variable of binds) bound.add(variable)
    }
    if (left.length === open.length) throwUnsafeVariable(left, known, trouble)
    open = left
  }
  return { goals: ordered, known }
}

/** Returns the variables that the goal binds if it runs now; undefined if it cannot run yet. */
function findBindings(goal: Goal, known: BindingState): Iterable<Variable> | undefined {
  if (findUnboundInReplacements(goal.with, known) !== undefined) return undefined
  switch (goal.type) {
    case 'test':
      if (findUnbound(goal.term, known) === undefined) return []
      return canEnumerate(goal.term, known) ? patternVariables(goal.term) : undefined
    case 'unify':
      if (goal.declares && !isReady(goal.right, known)) return undefined
      return planUnify([goal.left, goal.right], known)?.binds
    case 'iterate': {
      if (findUnbound(goal.domain, known) !== undefined) return undefined
      const patterns = goal.key === undefined ? [goal.value] : [goal.key, goal.value]
      return patterns.every((pattern) => canMatch(pattern, known))
        ? patterns.flatMap(patternVariables)
        : undefined
    }
    case 'every':
    case 'not':
    case 'and':
    case 'or':
    case 'print':
      return findUnboundInGoal(goal, known) === undefined ? [] : undefined
  }
}

function isReady(expression: Expression, known: BindingState): boolean {
  return findUnbound(expression, known) === undefined || canEnumerate(expression, known)
}

function throwUnsafeVariable(
  goals: readonly Goal[],
  known: BindingState,
  trouble: ErrorSite,
): never {
  const unsafe: Variable[] = []
  const note = (variable: Variable): void => {
    if (!known.bound.has(variable)) unsafe.push(variable)
  }
  const noteShared = (variable: Variable): void => {
    if (known.visible.has(variable)) note(variable)
  }
  for (const goal of goals) visitGoal(goal, { direct: note, inner: noteShared })
  const first = unsafe.find(({ name }) => name !== '_$') ?? unsafe[0]
  throwCompileError(
    { source: trouble.source, at: first?.at ?? trouble.at, code: 'rego_unsafe_var_error' },
    `var ${displayName(first?.name ?? '_$')} is unsafe`,
  )
}

/** Rejects variables in a head that the body does not bind. */
export function checkSafe(expression: Expression, known: BindingState, trouble: ErrorSite): void {
  const variable = findUnbound(expression, known)
  if (variable !== undefined)
    throwCompileError(
      { source: trouble.source, at: variable.at, code: 'rego_unsafe_var_error' },
      `var ${displayName(variable.name)} is unsafe`,
    )
}

function reorderNested(goal: Goal, known: BindingState, trouble: ErrorSite): Goal {
  const order = (expression: Expression) => orderExpression(expression, known, trouble)
  const replaced = goal.with.map((replacement) => orderReplacement(replacement, order))
  const inner = (body: readonly Goal[], own: readonly Variable[] = []) =>
    reorderForSafety(
      body,
      { bound: new Set([...known.bound, ...own]), visible: known.visible },
      trouble,
    ).goals
  switch (goal.type) {
    case 'test':
      return { ...goal, with: replaced, term: order(goal.term) }
    case 'unify':
      return { ...goal, with: replaced, left: order(goal.left), right: order(goal.right) }
    case 'iterate':
      return { ...goal, with: replaced, domain: order(goal.domain) }
    case 'every': {
      const own = goal.key === undefined ? [goal.value] : [goal.key, goal.value]
      return { ...goal, with: replaced, domain: order(goal.domain), body: inner(goal.body, own) }
    }
    case 'not':
      return { ...goal, with: replaced, body: inner(goal.body) }
    case 'and':
    case 'or':
      return { ...goal, with: replaced, left: inner(goal.left), right: inner(goal.right) }
    case 'print':
      return {
        ...goal,
        with: replaced,
        operands: goal.operands.map((operand) => orderComprehension(operand, known, trouble)),
      }
  }
}

function orderReplacement(
  replacement: Replacement,
  order: (expression: Expression) => Expression,
): Replacement {
  if (replacement.type !== 'function') return { ...replacement, value: order(replacement.value) }
  return 'value' in replacement.by
    ? { ...replacement, by: { value: order(replacement.by.value) } }
    : replacement
}

/** Orders the bodies in a term. */
export function orderExpression(
  expression: Expression,
  known: BindingState,
  trouble: ErrorSite,
): Expression {
  const order = (inner: Expression) => orderExpression(inner, known, trouble)
  switch (expression.type) {
    case 'constant':
    case 'var':
      return expression
    case 'reference': {
      const { root } = expression
      return {
        ...expression,
        root: typeof root === 'string' ? root : order(root),
        path: expression.path.map(order),
      }
    }
    case 'call':
      return { ...expression, operands: expression.operands.map(order) }
    case 'array':
    case 'set':
      return { ...expression, items: expression.items.map(order) }
    case 'object':
      return {
        ...expression,
        entries: expression.entries.map(([key, value]) => [order(key), order(value)]),
      }
    case 'comprehension':
      return orderComprehension(expression, known, trouble)
    case 'template':
      return {
        ...expression,
        parts: expression.parts.map((part) =>
          typeof part === 'string' ? part : orderComprehension(part, known, trouble),
        ),
      }
  }
}

function orderComprehension(
  term: Comprehension,
  known: BindingState,
  trouble: ErrorSite,
): Comprehension {
  const { goals, known: after } = reorderForSafety(term.body, known, trouble)
  for (const head of term.key === undefined ? [term.head] : [term.key, term.head])
    checkSafe(head, after, trouble)
  const order = (inner: Expression) => orderExpression(inner, after, trouble)
  const key = term.key === undefined ? undefined : order(term.key)
  return { ...term, body: goals, head: order(term.head), key }
}

/**
 * Rewrites an object rule so that an evaluation reports every key for which its body is tried.
 * `test_add[name] if { some name, t in cases; t.want == add(t.a, t.b) }` only has entries for cases
 * that hold, but a test must name those that do not.
 */
export function withCases(rule: Rule): Rule {
  const [, ...keys] = rule.path
  const wanted = variablesOf(keys)
  const missing = new Set(wanted)
  let at = 0
  while (missing.size > 0 && at < rule.body.length) {
    const literal = rule.body[at]
    // Variables declared by `some` alone have no value yet.
    if (literal !== undefined && literal.type !== 'some')
      for (const name of variablesOf(literal)) missing.delete(name)
    at++
  }
  const told: Literal = { type: 'expression', term: caseCall(keys, rule.at), with: [], at: rule.at }
  return { ...rule, body: [...rule.body.slice(0, at), told, ...rule.body.slice(at)] }
}

function caseCall(keys: readonly Term[], at: number): Term {
  return {
    type: 'call',
    name: TEST_CASE.split('.'),
    operands: [{ type: 'array', items: keys, at }],
    at,
  }
}

/** Returns the names of all variables in a part of a rule. */
function variablesOf(node: object): readonly string[] {
  if ('type' in node && node.type === 'var' && 'name' in node) return [String(node.name)]
  return Object.values(node).flatMap((part: unknown) =>
    typeof part === 'object' && part !== null ? variablesOf(part) : [],
  )
}
