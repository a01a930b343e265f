import type { OperandType } from '../builtins/builtin.ts'
import { kindOf, type Kind } from '../value/value.ts'
import type { Call, Expression } from './ir.ts'
import { throwCompileError, type ErrorSite } from './unit.ts'

/**
 * Refuses calls of builtins with operands that can never fit, such as `1 + "a"`. Types of documents
 * and variables are not inferred: those calls fail when they are made.
 */
export function checkOperands(call: Call, trouble: ErrorSite): void {
  if (call.callee.type !== 'builtin') return
  const { builtin } = call.callee
  // The builtins of version 0 take anything and fail when they are called.
  if (builtin.isDeprecated) return
  for (const [at, operand] of call.operands.entries()) {
    const wanted = builtin.operands[at]
    const kind = staticKind(operand)
    if (wanted === undefined || kind === undefined || fits(kind, wanted)) continue
    throwCompileError(
      { ...trouble, code: 'rego_type_error' },
      `${call.name}: invalid argument(s): operand ${at + 1} is ${kind}`,
    )
  }
}

function fits(kind: Kind, wanted: OperandType): boolean {
  if (wanted === 'any') return true
  return typeof wanted === 'string' ? wanted === kind : wanted.includes(kind)
}

/** The kind of every value the expression may have; nothing when that is not plain to see. */
function staticKind(expression: Expression): Kind | undefined {
  switch (expression.type) {
    case 'constant':
      return kindOf(expression.value)
    case 'array':
    case 'set':
    case 'object':
      return expression.type
    case 'comprehension':
      return expression.makes
    case 'template':
      return 'string'
    case 'call': {
      if (expression.callee.type !== 'builtin') return undefined
      const { result, isRelation } = expression.callee.builtin
      return isRelation || typeof result !== 'string' || result === 'any' ? undefined : result
    }
    case 'var':
    case 'reference':
      return undefined
  }
}
