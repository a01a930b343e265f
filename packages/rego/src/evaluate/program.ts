import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compileModules, type Compiled, type CompileOptions } from '../compile/compile.ts'
import type { VirtualDocument, RuleIR, TreeNode } from '../compile/ir.ts'
import { CALL_DEPTH_MAX } from '../limits.ts'
import type { RegoVersion } from '../syntax/cursor.ts'
import type { RegoDiagnostic } from '../syntax/source.ts'
import { equal, ObjectValue, SetValue, type Value } from '../value/value.ts'
import type { Program } from './codegen.ts'
import { Collector, type DocumentNode, type Put } from './collector.ts'
import { Frame, NO_VALUE, type Env, EvaluationAborted, type EvaluationError } from './env.ts'
import { FunctionMemo } from './function-memo.ts'
import { compileQuery, type EvaluateOptions, type PreparedQuery } from './query.ts'
import {
  compilePartialRule,
  compileValueRule,
  conflict,
  type PartialRule,
  type ValueRule,
} from './rule.ts'
import { indexRules, type RuleIndex } from './rule-index.ts'

/** The rules of all modules as closures. A rule is compiled when it is first needed. */
function makeProgram(root: TreeNode, isTraced: boolean): Program {
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

/** Compiled modules, ready for queries. */
export interface RegoProgram {
  /** The language version in which each module was parsed, by file. */
  readonly versions: ReadonlyMap<string, RegoVersion>
  /**
   * Compiles a query with any body, such as `data.a.b = x`. With `explain`, `trace` receives why
   * rules have no solution.
   */
  prepareQuery(text: string, options?: QueryOptions): Result<PreparedQuery, RegoDiagnostic>
  /**
   * Compiles a query for one document such as `data.a.deny`, or any other expression. A query with
   * several expressions or solutions is rejected, because the first result would not represent the
   * others.
   */
  prepareDocument(
    reference: string,
    options?: QueryOptions,
  ): Result<PreparedDocument, RegoDiagnostic>
}

interface QueryOptions {
  readonly explain?: boolean
}

export interface PreparedDocument {
  /** Returns the value of the document; undefined if it has none. */
  evaluate(options?: EvaluateOptions): Result<Value | undefined, EvaluationError>
}

export function compileRego(
  options: CompileOptions,
): Result<RegoProgram, readonly RegoDiagnostic[]> {
  const compiled = compileModules(options)
  if (!compiled.ok) return compiled
  return ok(makePolicies(compiled.value))
}

function makePolicies({ compilation, units }: Compiled): RegoProgram {
  const plain = makeProgram(compilation.root, false)
  let traced: Program | undefined
  const query: RegoProgram['prepareQuery'] = (text, options) => {
    if (options?.explain !== true)
      return compileQuery({ compilation, program: plain, version: 1 }, text)
    traced ??= makeProgram(compilation.root, true)
    return compileQuery({ compilation, program: traced, version: 1 }, text)
  }
  return {
    versions: new Map(units.map((unit) => [unit.source.file, unit.version])),
    prepareQuery: query,
    prepareDocument: (reference, options) => {
      const asked = query(`answer = ${reference}`, options)
      if (!asked.ok) return err(asked.error)
      if (asked.value.expressions > 1) return err(SEVERAL_EXPRESSIONS)
      return ok({ evaluate: (given) => onlyAnswer(asked.value.evaluate(given)) })
    },
  }
}

const SEVERAL_EXPRESSIONS: RegoDiagnostic = {
  code: 'rego_parse_error',
  message: 'it asks for several things: a query is one expression',
  location: { file: 'query', row: 1, column: 1 },
}

function onlyAnswer(
  result: ReturnType<PreparedQuery['evaluate']>,
): Result<Value | undefined, EvaluationError> {
  if (!result.ok) return result
  const [answer, ...others] = result.value
  if (others.length === 0) return ok(answer?.get('answer'))
  const message = `there are ${result.value.length} answers: ask for one document`
  return err({ code: 'eval_conflict_error', message, location: undefined })
}
