import type { VirtualDocument, RuleIR, TreeNode } from '../compile/ir.ts'
import { CALL_DEPTH_MAX } from '../limits.ts'
import { equal, ObjectValue, SetValue, type Value } from '../value/value.ts'
import type { Program } from './coder.ts'
import { Collector, type DocumentNode, type Put } from './collector.ts'
import { Frame, NO_VALUE, type Env } from './env.ts'
import { FunctionMemo } from './function-memo.ts'
import { EvaluationAborted } from './problem.ts'
import {
  compilePartialRule,
  compileValueRule,
  conflict,
  type PartialRule,
  type ValueRule,
} from './rule.ts'
import { indexRules, type RuleIndex } from './rule-index.ts'

/** The rules of all modules as closures. A rule is compiled when it is first needed. */
export function makeProgram(root: TreeNode, isTraced: boolean): Program {
  const compiled: CompiledGroup[] = []
  const codeOf = (group: VirtualDocument): CompiledGroup => {
    let code = compiled[group.id]
    if (code === undefined) {
      code = new CompiledGroup(program, group)
      compiled[group.id] = code
    }
    return code
  }
  const program: Program = {
    root,
    isTraced,
    evaluateDocument: (env, group) => {
      const known = env.memo[group.id]
      if (known !== undefined) return known === NO_VALUE ? undefined : known
      const value = withDepthLimit(env, group, () => codeOf(group).evaluate(env))
      env.memo[group.id] = value === undefined ? NO_VALUE : value
      return value
    },
    callFunction: (env, group, operands) => {
      const memo = memoOf(env)
      const key = memo.keyOf(group, operands)
      const known = key === undefined ? undefined : memo.get(group, key)
      if (known !== undefined) {
        env.shared.step()
        return known === NO_VALUE ? undefined : known
      }
      const value = withDepthLimit(env, group, () => codeOf(group).call(env, operands))
      if (key !== undefined) memo.set(group, key, value)
      return value
    },
  }
  return program
}

const memos = new WeakMap<Env, FunctionMemo>()

function memoOf(env: Env): FunctionMemo {
  let memo = memos.get(env)
  if (memo === undefined) {
    memo = new FunctionMemo()
    memos.set(env, memo)
  }
  return memo
}

function withDepthLimit<T>(env: Env, group: VirtualDocument, run: () => T): T {
  const { shared } = env
  shared.step()
  if (++shared.depth > CALL_DEPTH_MAX)
    throw new EvaluationAborted({
      code: 'eval_limit_error',
      message: `${group.name}: more than ${CALL_DEPTH_MAX} rules wait for one another`,
      location: undefined,
    })
  const result = run()
  shared.depth--
  return result
}

const NO_OPERANDS: readonly Value[] = []

class CompiledGroup {
  readonly #program: Program
  readonly #group: VirtualDocument
  readonly #index: RuleIndex
  readonly #values = new Map<RuleIR, ValueRule>()
  readonly #partials = new Map<RuleIR, PartialRule>()
  #isEarly: boolean | undefined

  constructor(program: Program, group: VirtualDocument) {
    this.#program = program
    this.#group = group
    this.#index = indexRules(group.rules)
  }

  evaluate(env: Env): Value | undefined {
    switch (this.#group.kind) {
      case 'complete':
        return this.call(env, NO_OPERANDS)
      case 'set':
        return this.#collect(env).set.build()
      case 'object':
        return this.#evaluateObject(env)
      case 'function':
        return undefined
    }
  }

  /** The value of a complete rule, or of a function for its operands. */
  call(env: Env, operands: readonly Value[]): Value | undefined {
    let result: Value | undefined
    for (const ir of this.#index.find(env, operands)) {
      const value = this.#valueRule(ir).run(env, operands)
      if (value === undefined) continue
      if (result !== undefined && !equal(result, value)) throw conflict(ir)
      result = value
      if (this.#stopsEarly()) break
    }
    const fallback = this.#group.default
    if (result === undefined && fallback !== undefined)
      return this.#valueRule(fallback).run(env, operands)
    return result
  }

  /** One answer is enough when no rule could give another. */
  #stopsEarly(): boolean {
    if (this.#isEarly === undefined) {
      const constants = new Set(this.#group.rules.map((ir) => this.#valueRule(ir).constant))
      this.#isEarly = constants.size === 1 && !constants.has(undefined)
    }
    return this.#isEarly
  }

  #valueRule(ir: RuleIR): ValueRule {
    let rule = this.#values.get(ir)
    if (rule === undefined) {
      rule = compileValueRule(this.#program, ir)
      this.#values.set(ir, rule)
    }
    return rule
  }

  #collect(env: Env): Collector {
    const collector = new Collector()
    for (const ir of this.#index.find(env, NO_OPERANDS)) {
      let rule = this.#partials.get(ir)
      if (rule === undefined) {
        rule = compilePartialRule(this.#program, ir)
        this.#partials.set(ir, rule)
      }
      const frame = new Frame(env, ir.slotCount)
      frame.output = collector
      rule.run(frame)
    }
    return collector
  }

  /** Entries of rules with computed keys and the documents below, in one object. */
  #evaluateObject(env: Env): Value {
    const { document } = this.#collect(env)
    for (const { path, group } of this.#group.nested) {
      const value = this.#program.evaluateDocument(env, group)
      if (value === undefined) continue
      const isPut = putDocument(document, path, { value, group })
      const [ir] = group.rules
      if (isPut === undefined && ir !== undefined)
        throw new EvaluationAborted({
          code: 'eval_conflict_error',
          message: 'object keys must be unique',
          location: ir.source.locate(ir.rule.at),
        })
    }
    return document.build()
  }
}

function putDocument(
  document: DocumentNode,
  path: readonly Value[],
  { value, group }: { readonly value: Value; readonly group: VirtualDocument },
): Put {
  if (group.kind === 'set' && value instanceof SetValue) return document.addAll(path, value)
  if (group.kind !== 'object' || !(value instanceof ObjectValue)) return document.put(path, value)
  for (const [key, item] of value.entries())
    if (document.put([...path, key], item) === undefined) return undefined
  return true
}
