import type { v2 } from '@reeve/contract'
import { LruCache } from '@reeve/kit/lru-cache.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  compilePolicy,
  parseExactJson,
  formatValue,
  StaticImports,
  Undefined,
  toLazyValue,
  type CompiledPolicy,
  type Evaluation,
  type NativeDiagnostic,
  type Position,
  type RuleResult,
  type Value,
} from '@reeve/native-policy'
import {
  COMPILED_CHARS_MAX,
  COMPILED_POLICIES_MAX,
  FINDINGS_MAX,
  POLICY_STEPS_MAX,
  VALUE_LENGTH_MAX,
} from './limits.ts'
import { compileRegoPolicy, evaluateRegoPolicy, type CompiledRegoPolicy } from './rego.ts'
import {
  omittedFindingsWarning,
  type PolicyInvocation,
  type EvaluationContext,
  type Diagnostic,
  type PolicyResult,
  type EngineOptions,
  type PolicyDefinition,
} from './engine.ts'
import {
  hostGlobals,
  importHint,
  inputKindOf,
  isKnownImport,
  NativeInput,
  skipReason,
} from './native-input.ts'
import type { PolicyInput } from './policy-input.ts'
import { readBundle } from './set-archive.ts'

type CachedPolicy =
  | {
      readonly kind: 'native'
      readonly policy: Result<CompiledNativePolicy, readonly Diagnostic[]>
    }
  | { readonly kind: 'opa'; readonly policy: Result<CompiledRegoPolicy, readonly Diagnostic[]> }

/**
 * Compiles and evaluates policies in this thread, with a cache of compiled policies. It knows
 * neither enforcement levels nor overrides.
 */
export class InProcessEngine {
  /** Compiled policies by kind, query, name and code. */
  readonly #compiled = new LruCache<string, CachedPolicy>({
    weightMax: COMPILED_CHARS_MAX,
    countMax: COMPILED_POLICIES_MAX,
    weigh: (key) => key.length,
  })

  /** Returns the diagnostics of a policy's code: warnings if it compiles, otherwise the errors. */
  diagnose(policy: PolicyDefinition): readonly Diagnostic[] {
    const { policy: compiled } = this.#compile(policy)
    return compiled.ok ? compiled.value.warnings : compiled.error
  }

  /** Evaluates several policies for one input; the views of the input are created once. */
  evaluate(
    input: PolicyInput,
    policies: readonly PolicyInvocation[],
    options: EngineOptions,
  ): PolicyResult[] {
    const nativeInput = new NativeInput(input, options)
    return policies.map((invocation) =>
      this.#evaluateOne(invocation, { input, nativeInput, options }),
    )
  }

  #evaluateOne({ policy, params }: PolicyInvocation, evaluation: EvaluationContext): PolicyResult {
    const compiled = this.#compile(policy)
    if (!compiled.policy.ok) return compileFailure(compiled.policy.error)
    if (compiled.kind === 'opa')
      return evaluateRegoPolicy(compiled.policy.value, { policy, params }, evaluation)
    evaluation.nativeInput.reset()
    return evaluateNativePolicy(compiled.policy.value, { policy, params }, evaluation)
  }

  #compile(policy: PolicyDefinition): CachedPolicy {
    const key = `${policy.kind}\n${policy.query ?? ''}\n${policy.name}\n${policy.code}`
    const cached = this.#compiled.get(key)
    if (cached !== undefined) return cached
    // Room is made before compilation, which needs the most memory.
    this.#compiled.evictFor(key.length)
    const compiled: CachedPolicy =
      policy.kind === 'native'
        ? { kind: 'native', policy: compileNativePolicy(policy) }
        : { kind: 'opa', policy: compileRegoPolicy(policy) }
    this.#compiled.set(key, compiled)
    return compiled
  }
}

/** Returns an errored result with the diagnostics: a policy that does not compile fails closed. */
function compileFailure(diagnostics: readonly Diagnostic[]): PolicyResult {
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  return {
    status: 'errored',
    output: [],
    findings: errors.map(({ message, line, column }) => ({ rule: null, line, column, message })),
  }
}

interface CompiledNativePolicy {
  readonly compiled: CompiledPolicy
  /** The only kind of input that the policy applies to; undefined if it applies to any. */
  readonly inputKind: PolicyInput['kind'] | undefined
  /** Static data of the policy set that the policy may import. */
  readonly statics: StaticImports
  readonly warnings: readonly Diagnostic[]
}

function compileNativePolicy(
  policy: PolicyDefinition,
): Result<CompiledNativePolicy, readonly Diagnostic[]> {
  const ownFile = policyFile(policy)
  const { code, modules, statics } = readBundle(policy.code)
  const data = new StaticImports(
    new Map(statics.map(([name, text]) => [name, parseExactJson(text)])),
  )
  const compiled = compilePolicy(
    { file: ownFile, text: code },
    {
      modules: new Map(
        modules.map(([name, text]) => [name, { file: `${name}.native`, text }] as const),
      ),
      isImport: (path) => isKnownImport(path) || data.has(path),
      importHint: importHint,
      globals: hostGlobals(policy.code),
    },
  )
  const toDiagnostics = (severity: Diagnostic['severity']) => (problem: NativeDiagnostic) =>
    toDiagnostic(severity, problem, ownFile)
  if (!compiled.ok) return err(compiled.error.map(toDiagnostics('error')))
  const warnings = compiled.value.warnings.map(toDiagnostics('warning'))
  const inputKind = inputKindOf(compiled.value)
  return ok({ compiled: compiled.value, inputKind, statics: data, warnings })
}

function policyFile({ name }: PolicyDefinition): string {
  return `${name}.native`
}

function toDiagnostic(
  severity: Diagnostic['severity'],
  { message, position: { file, line, column } }: NativeDiagnostic,
  ownFile: string,
): Diagnostic {
  return { severity, message: file === ownFile ? message : `${file}: ${message}`, line, column }
}

/**
 * Evaluates a policy. A failing policy is evaluated again with explanations enabled, to collect its
 * findings.
 */
function evaluateNativePolicy(
  { compiled, inputKind, statics }: CompiledNativePolicy,
  { policy, params }: PolicyInvocation,
  { input, nativeInput, options }: EvaluationContext,
): PolicyResult {
  const skipped = skipReason(inputKind, input)
  if (skipped !== undefined) return { status: 'passed', output: [], findings: [], skipped }
  const evaluate = (explains: boolean): Evaluation =>
    compiled.evaluate({
      importValue: (path) => nativeInput.importValue(path) ?? statics.value(path),
      globals: nativeInput.globals(policy.code),
      params: new Map(Object.entries(params).map(([name, value]) => [name, toLazyValue(value)])),
      stepsMax: POLICY_STEPS_MAX,
      isCancelled: options.isCancelled,
      explain: explains,
    })
  const first = evaluate(false)
  if (first.result === 'pass') return { status: 'passed', output: printOutput(first), findings: [] }
  const ownFile = policyFile(policy)
  if (first.result === 'error')
    return {
      status: 'errored',
      output: printOutput(first),
      findings: errorFindings(first, ownFile),
    }
  nativeInput.reset()
  const findings = failureFindings(evaluate(true), { file: ownFile, mainAt: compiled.mainPosition })
  return {
    status: 'failed',
    output: printOutput(first),
    findings: findings.slice(0, FINDINGS_MAX),
    ...omittedFindingsWarning(findings.length),
  }
}

function printOutput({ printed: text }: Evaluation): readonly unknown[] {
  return text === '' ? [] : [{ print: text }]
}

function errorFindings({ error }: Evaluation, ownFile: string): readonly v2.PolicyFinding[] {
  if (error === undefined) return []
  const { message, position } = error
  return [{ rule: null, ...locationOf(position, ownFile), message }]
}

/** The file name is included only if it is not the policy's own file. */
function locationOf({ file, line, column }: Position, ownFile: string) {
  if (line === 0) return { line: null, column: null }
  return { line, column, ...(file === ownFile ? {} : { file }) }
}

interface PolicyLocation {
  /** Path of the policy's own file. */
  readonly file: string
  readonly mainAt: Position | undefined
}

function failureFindings(
  evaluation: Evaluation,
  location: PolicyLocation,
): readonly v2.PolicyFinding[] {
  const { rules } = evaluation
  const findings = rules.filter(isFailing).flatMap((rule) => ruleFindings(rule, location.file))
  return findings.length === 0 ? [mainFinding(evaluation, location)] : findings
}

function isFailing({ value, failures }: RuleResult): boolean {
  return (value === false || value instanceof Undefined) && failures.length > 0
}

/**
 * Returns one finding per failed expression of the rule. A rule that only refers to another failed
 * rule has no failures of its own.
 */
function ruleFindings(report: RuleResult, ownFile: string): readonly v2.PolicyFinding[] {
  const rule = report.name === '' ? null : report.name
  return report.failures.map(({ position, text, value, operands }) => {
    const because = operands.map((operand) => `${operand.text} is ${operand.value}`).join(', ')
    const message = `${text} is ${value}${because === '' ? '' : ` (${because})`}`
    return { rule, ...locationOf(position, ownFile), message, ...firstOperandValue(operands) }
  })
}

function firstOperandValue(operands: readonly { readonly value: string }[]): { value?: string } {
  const [first] = operands
  return first === undefined ? {} : { value: first.value }
}

/** Returns the finding for `main` itself, if no rule has a finding. */
function mainFinding(
  { value, undefinedAt, rules }: Evaluation,
  { file: ownFile, mainAt }: PolicyLocation,
): v2.PolicyFinding {
  const main = rules.find(({ name }) => name === 'main')
  const position = undefinedAt ?? main?.position ?? mainAt
  const location =
    position === undefined ? { line: null, column: null } : locationOf(position, ownFile)
  const displayed = displayValue(value)
  return { rule: 'main', ...location, message: `main is ${displayed}`, value: displayed }
}

function displayValue(value: Value | undefined): string {
  return value === undefined ? 'undefined' : formatValue(value, VALUE_LENGTH_MAX)
}
