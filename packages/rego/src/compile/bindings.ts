import type { Expression, Goal, Replacement, Variable } from './ir.ts'

/** Reports whether unification or enumeration may bind a variable in the expression. */
export function isPattern(expression: Expression): boolean {
  switch (expression.type) {
    case 'var':
      return !expression.variable.isAssigned
    case 'array':
      return expression.items.some(isPattern)
    case 'object':
      return expression.entries.some(([, value]) => isPattern(value))
    default:
      return false
  }
}

/** Visits the variables of a term, including those of nested bodies. */
export interface VariableVisitor {
  readonly direct: (variable: Variable) => void
  readonly inner: (variable: Variable) => void
}

export function visitExpression(expression: Expression, visitor: VariableVisitor): void {
  switch (expression.type) {
    case 'constant':
      return
    case 'var':
      visitor.direct(expression.variable)
      return
    case 'reference':
      if (typeof expression.root !== 'string') visitExpression(expression.root, visitor)
      for (const item of expression.path) visitExpression(item, visitor)
      return
    case 'call':
      for (const operand of expression.operands) visitExpression(operand, visitor)
      return
    case 'array':
    case 'set':
      for (const item of expression.items) visitExpression(item, visitor)
      return
    case 'object':
      for (const [key, value] of expression.entries) {
        visitExpression(key, visitor)
        visitExpression(value, visitor)
      }
      return
    case 'comprehension': {
      const within: VariableVisitor = { direct: visitor.inner, inner: visitor.inner }
      if (expression.key !== undefined) visitExpression(expression.key, within)
      visitExpression(expression.head, within)
      for (const goal of expression.body) visitGoal(goal, within)
      return
    }
    case 'template':
      for (const part of expression.parts)
        if (typeof part !== 'string') visitExpression(part, visitor)
  }
}

export function visitGoal(goal: Goal, visitor: VariableVisitor): void {
  for (const replacement of goal.with) visitReplacement(replacement, visitor)
  const within: VariableVisitor = { direct: visitor.inner, inner: visitor.inner }
  switch (goal.type) {
    case 'test':
      visitExpression(goal.term, visitor)
      return
    case 'unify':
      visitExpression(goal.left, visitor)
      visitExpression(goal.right, visitor)
      return
    case 'iterate':
      if (goal.key !== undefined) visitExpression(goal.key, visitor)
      visitExpression(goal.value, visitor)
      visitExpression(goal.domain, visitor)
      return
    case 'every':
      visitExpression(goal.domain, visitor)
      if (goal.key !== undefined) visitor.inner(goal.key)
      visitor.inner(goal.value)
      for (const inner of goal.body) visitGoal(inner, within)
      return
    case 'not':
      for (const inner of goal.body) visitGoal(inner, goal.isScoped ? within : visitor)
      return
    case 'and':
    case 'or':
      for (const inner of [...goal.left, ...goal.right]) visitGoal(inner, within)
      return
    case 'print':
      for (const operand of goal.operands) visitExpression(operand, visitor)
  }
}

function visitReplacement(replacement: Replacement, visitor: VariableVisitor): void {
  if (replacement.type !== 'function') visitExpression(replacement.value, visitor)
  else if ('value' in replacement.by) visitExpression(replacement.by.value, visitor)
}

const nothing = (): void => undefined

/** Returns the variables of the goals themselves, without those of nested bodies. */
export function directVariables(goals: readonly Goal[]): Set<Variable> {
  const found = new Set<Variable>()
  for (const goal of goals)
    visitGoal(goal, { direct: (variable) => found.add(variable), inner: nothing })
  return found
}

/** Variables that are known at a goal. */
export interface BindingState {
  readonly bound: ReadonlySet<Variable>
  /** Variables of this body or an enclosing one: a nested body shares them and owns all others. */
  readonly visible: ReadonlySet<Variable>
}

/** Returns the first variable that must be bound earlier but is not. */
export function findUnbound(expression: Expression, known: BindingState): Variable | undefined {
  return firstUnbound(known, (visitor) => visitExpression(expression, visitor))
}

export function findUnboundInGoal(goal: Goal, known: BindingState): Variable | undefined {
  return firstUnbound(known, (visitor) => visitGoal(goal, visitor))
}

export function findUnboundInReplacements(
  replacements: readonly Replacement[],
  known: BindingState,
): Variable | undefined {
  return firstUnbound(known, (visitor) => {
    for (const replacement of replacements) visitReplacement(replacement, visitor)
  })
}

function firstUnbound(
  { bound, visible }: BindingState,
  visit: (visitor: VariableVisitor) => void,
): Variable | undefined {
  let first: Variable | undefined
  visit({
    direct: (variable) => {
      if (!bound.has(variable)) first ??= variable
    },
    inner: (variable) => {
      if (visible.has(variable) && !bound.has(variable)) first ??= variable
    },
  })
  return first
}
