import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Expression } from '../syntax/ast.ts'
import {
  createCollector,
  toDiagnostics,
  type Diagnostic,
  type DiagnosticCollector,
} from '../text/diagnostic.ts'
import type { Value } from '../value/value.ts'
import { evaluateAccess, evaluateVariable } from './access.ts'
import {
  evaluateArithmetic,
  evaluateConditional,
  evaluateLogic,
  evaluateNot,
  isArithmetic,
} from './operators.ts'
import { evaluateCall } from './call.ts'
import { evaluateFor, evaluateObject, evaluateTuple } from './collection.ts'
import { chargeSteps, type EvaluationContext } from './context.ts'
import type { Scope } from './scope.ts'
import { evaluateTemplate } from './template.ts'

/** Returns the value of an expression, or all its errors. */
export function evaluate(
  expression: Expression,
  scope: Scope,
): Result<Value, readonly Diagnostic[]> {
  const problems = createCollector()
  const value = evaluateInto(expression, scope, problems)
  return value === undefined ? err(toDiagnostics(problems)) : ok(value)
}

/** Like `evaluate`, but reports to the caller's collector. */
export function evaluateInto(
  expression: Expression,
  scope: Scope,
  problems: DiagnosticCollector,
): Value | undefined {
  return evaluateNode(expression, { scope, problems, evaluate: evaluateNode })
}

function evaluateNode(expression: Expression, context: EvaluationContext): Value | undefined {
  if (!chargeSteps(context, 1, expression.span)) return undefined
  switch (expression.kind) {
    case 'literal':
      return expression.value
    case 'template':
      return evaluateTemplate(expression, context)
    case 'variable':
      return evaluateVariable(expression, context)
    case 'access':
      return evaluateAccess(expression, context)
    case 'call':
      return evaluateCall(expression, context)
    case 'unary':
      return expression.operator === '-'
        ? evaluateArithmetic(expression, context)
        : evaluateNot(expression, context)
    case 'binary':
      return isArithmetic(expression)
        ? evaluateArithmetic(expression, context)
        : evaluateLogic(expression, context)
    case 'conditional':
      return evaluateConditional(expression, context)
    case 'parentheses':
      return evaluateNode(expression.inner, context)
    case 'tuple':
      return evaluateTuple(expression, context)
    case 'object':
      return evaluateObject(expression, context)
    case 'for':
      return evaluateFor(expression, context)
  }
}
