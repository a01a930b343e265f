import type { Expression, ObjectExpression, Template } from '../compile/ir.ts'
import { formatText } from '../value/format.ts'
import { isArray, ObjectBuilder, SetBuilder, setOf, type Value } from '../value/value.ts'
import { compileCall } from './call.ts'
import type { CodegenContext } from './codegen.ts'
import { EvaluationAborted, type ValueThunk } from './env.ts'
import { compileReference } from './reference.ts'

/** A term whose variables are bound: one value or none. */
export function compileExpression(coder: CodegenContext, expression: Expression): ValueThunk {
  const constant = constantOf(expression)
  if (constant !== undefined) return () => constant
  switch (expression.type) {
    case 'constant':
      return () => expression.value
    case 'var': {
      const { slot } = expression.variable
      return (frame) => frame.slots[slot]
    }
    case 'reference':
      return compileReference(coder, expression)
    case 'call':
      return compileCall(coder, expression)
    case 'array':
      return compileArray(expression.items.map((item) => compileExpression(coder, item)))
    case 'set':
      return compileSet(expression.items.map((item) => compileExpression(coder, item)))
    case 'object':
      return compileObject(coder, expression)
    case 'comprehension':
      return coder.compileComprehension(coder, expression)
    case 'template':
      return compileTemplate(coder, expression)
  }
}

/** The value of a term that is the same in every evaluation and costs nothing to know. */
export function constantOf(expression: Expression): Value | undefined {
  switch (expression.type) {
    case 'constant':
      return expression.value
    case 'array':
      return constantsOf(expression.items)
    case 'set': {
      const items = constantsOf(expression.items)
      return items === undefined ? undefined : setOf(items)
    }
    case 'object': {
      const builder = new ObjectBuilder()
      for (const [key, value] of expression.entries) {
        const name = constantOf(key)
        const item = constantOf(value)
        if (name === undefined || item === undefined) return undefined
        builder.set(name, item)
      }
      return builder.build()
    }
    default:
      return undefined
  }
}

function constantsOf(expressions: readonly Expression[]): Value[] | undefined {
  const values: Value[] = []
  for (const expression of expressions) {
    const value = constantOf(expression)
    if (value === undefined) return undefined
    values.push(value)
  }
  return values
}

function compileArray(items: readonly ValueThunk[]): ValueThunk {
  return (frame) => {
    const values: Value[] = []
    for (const item of items) {
      const value = item(frame)
      if (value === undefined) return undefined
      values.push(value)
    }
    return values
  }
}

function compileSet(items: readonly ValueThunk[]): ValueThunk {
  return (frame) => {
    const builder = new SetBuilder()
    for (const item of items) {
      const value = item(frame)
      if (value === undefined) return undefined
      builder.add(value)
    }
    return builder.build()
  }
}

function compileObject(coder: CodegenContext, { entries }: ObjectExpression): ValueThunk {
  const compiled = entries.map(([key, value]) => ({
    key: compileExpression(coder, key),
    value: compileExpression(coder, value),
  }))
  return (frame) => {
    const builder = new ObjectBuilder()
    for (const entry of compiled) {
      const key = entry.key(frame)
      if (key === undefined) return undefined
      const value = entry.value(frame)
      if (value === undefined) return undefined
      builder.set(key, value)
    }
    return builder.build()
  }
}

function compileTemplate(coder: CodegenContext, { parts, at }: Template): ValueThunk {
  const compiled = parts.map((part) =>
    typeof part === 'string' ? part : coder.compileComprehension(coder, part),
  )
  return (frame) => {
    let text = ''
    for (const part of compiled) {
      if (typeof part === 'string') {
        text += part
        continue
      }
      const values = part(frame)
      const [first, second] = isArray(values) ? values : []
      if (second !== undefined)
        throw new EvaluationAborted({
          code: 'eval_conflict_error',
          message: 'template-strings must not produce multiple outputs',
          location: coder.source.locate(at),
        })
      text += first === undefined ? '<undefined>' : formatText(first)
    }
    frame.env.shared.chargeText(text)
    return text
  }
}
