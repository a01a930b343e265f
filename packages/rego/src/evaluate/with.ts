import type { VirtualDocument, Replacement } from '../compile/ir.ts'
import { documentsUnder } from '../compile/rule-tree.ts'
import { EMPTY_OBJECT, ObjectValue, type Value } from '../value/value.ts'
import type { CodegenContext } from './codegen.ts'
import { Env, type ValueThunk, type Mock, type Step } from './env.ts'
import { replacePath } from './lookup.ts'

/**
 * Compiles a goal with replacements: it runs in a new scope, and the following goals in the outer
 * one.
 */
export function compileWith(
  coder: CodegenContext,
  replacements: readonly Replacement[],
  build: (coder: CodegenContext, leave: (next: Step) => Step) => Step,
): Step {
  const changes = replacements.map((replacement) => compileChange(coder, replacement))
  const step = build(coder, leaveScope)
  return (frame) => {
    const outer = frame.env
    const inner = new Scope(outer)
    for (const change of changes) {
      const value = change.value(frame)
      if (value === undefined) return false
      change.apply(inner, value)
    }
    frame.env = inner.build()
    const isEnough = step(frame)
    frame.env = outer
    return isEnough
  }
}

function leaveScope(next: Step): Step {
  return (frame) => {
    const inner = frame.env
    frame.env = inner.parent ?? inner
    const isEnough = next(frame)
    frame.env = inner
    return isEnough
  }
}

class Scope {
  readonly #outer: Env
  input: Value | undefined
  data: ObjectValue
  hidden: Set<VirtualDocument> | undefined
  mocks: Map<string, Mock> | undefined

  constructor(outer: Env) {
    this.#outer = outer
    this.input = outer.input
    this.data = outer.data
    this.hidden = outer.hidden === undefined ? undefined : new Set(outer.hidden)
    this.mocks = outer.mocks === undefined ? undefined : new Map(outer.mocks)
  }

  build(): Env {
    const { shared } = this.#outer
    shared.step()
    const { input, data, hidden, mocks } = this
    return new Env({ shared, input, data, hidden, mocks, parent: this.#outer })
  }
}

interface Change {
  /** Evaluated in the scope around. */
  readonly value: ValueThunk
  readonly apply: (scope: Scope, value: Value) => void
}

function compileChange(coder: CodegenContext, replacement: Replacement): Change {
  switch (replacement.type) {
    case 'input':
      return {
        value: coder.compileExpression(coder, replacement.value),
        apply: (scope, value) => {
          scope.input = replacePath(scope.input, replacement.path, value)
        },
      }
    case 'data': {
      const hidden = replacement.node === undefined ? [] : documentsUnder(replacement.node)
      return {
        value: coder.compileExpression(coder, replacement.value),
        apply: (scope, value) => {
          const data = replacePath(scope.data, replacement.path, value)
          scope.data = data instanceof ObjectValue ? data : EMPTY_OBJECT
          scope.hidden ??= new Set()
          for (const group of hidden) scope.hidden.add(group)
        },
      }
    }
    case 'function': {
      const { name, by } = replacement
      const value: ValueThunk =
        'value' in by ? coder.compileExpression(coder, by.value) : () => null
      return {
        value,
        apply: (scope, given) => {
          scope.mocks ??= new Map()
          scope.mocks.set(name, 'value' in by ? { value: given } : by)
        },
      }
    }
  }
}
