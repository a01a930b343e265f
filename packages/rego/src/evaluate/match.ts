import type { Expression } from '../compile/ir.ts'
import { equal, isArray, ObjectValue } from '../value/value.ts'
import type { CodegenContext } from './codegen.ts'
import type { MatchStep } from './env.ts'

/** Takes a value apart: unbound variables of the pattern are given values, the rest must fit. */
export function compileMatch(coder: CodegenContext, pattern: Expression): MatchStep {
  switch (pattern.type) {
    case 'var': {
      const { variable } = pattern
      const { slot } = variable
      if (!coder.bound.has(variable)) {
        coder.bound.add(variable)
        return (frame, value) => {
          frame.slots[slot] = value
          return true
        }
      }
      return (frame, value) => {
        const known = frame.slots[slot]
        return known !== undefined && equal(known, value)
      }
    }
    case 'array': {
      const items = pattern.items.map((item) => compileMatch(coder, item))
      return (frame, value) => {
        if (!isArray(value) || value.length !== items.length) return false
        for (let at = 0; at < items.length; at++) {
          const item = value[at]
          if (item === undefined || items[at]?.(frame, item) !== true) return false
        }
        return true
      }
    }
    case 'object':
      return compileObjectMatch(coder, pattern)
    default: {
      const evaluate = coder.compileExpression(coder, pattern)
      return (frame, value) => {
        const wanted = evaluate(frame)
        return wanted !== undefined && equal(wanted, value)
      }
    }
  }
}

function compileObjectMatch(
  coder: CodegenContext,
  pattern: Expression & { type: 'object' },
): MatchStep {
  const entries = pattern.entries.map(([key, value]) => ({
    key: coder.compileExpression(coder, key),
    match: compileMatch(coder, value),
  }))
  return (frame, value) => {
    if (!(value instanceof ObjectValue) || value.size !== entries.length) return false
    for (const entry of entries) {
      const key = entry.key(frame)
      const found = key === undefined ? undefined : value.get(key)
      if (found === undefined || !entry.match(frame, found)) return false
    }
    return true
  }
}
