import type { v2 } from '@reeve/contract'
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
  type RuleReport,
  type Value,
} from '@reeve/native-policy'
import { readBundle } from './bundle.ts'
import type { AskedPolicy, Asking, Diagnostic, Judgement, PolicyText } from './judgement.ts'
import { FINDINGS_MAX, POLICY_STEPS_MAX, VALUE_LENGTH_MAX } from './limits.ts'
import { adviceForImport, concernOf, globalsIn, isKnownImport, skipReason } from './native-data.ts'
import type { Subject } from './subject.ts'

export interface NativePolicy {
  readonly compiled: CompiledPolicy
  /** The only kind of subject that it is about; undefined: any. */
  readonly concern: Subject['kind'] | undefined
  /** What its set brings along. */
  readonly statics: StaticImports
  readonly warnings: readonly Diagnostic[]
}

export function compileNative(policy: PolicyText): Result<NativePolicy, readonly Diagnostic[]> {
  const own = fileOf(policy)
  const { code, modules, statics } = readBundle(policy.code)
  const data = new StaticImports(
    new Map(statics.map(([name, text]) => [name, parseExactJson(text)])),
  )
  const compiled = compilePolicy(
    { file: own, text: code },
    {
      modules: new Map(
        modules.map(([name, text]) => [name, { file: `${name}.native`, text }] as const),
      ),
      isImport: (path) => isKnownImport(path) || data.has(path),
      adviceFor: adviceForImport,
      globals: globalsIn(policy.code),
    },
  )
  const told = (severity: Diagnostic['severity']) => (problem: NativeDiagnostic) =>
    diagnostic(severity, problem, own)
  if (!compiled.ok) return err(compiled.error.map(told('error')))
  const warnings = compiled.value.warnings.map(told('warning'))
  const concern = concernOf(compiled.value)
  return ok({ compiled: compiled.value, concern, statics: data, warnings })
}

function fileOf({ name }: PolicyText): string {
  return `${name}.native`
}

function diagnostic(
  severity: Diagnostic['severity'],
  { message, position: { file, line, column } }: NativeDiagnostic,
  own: string,
): Diagnostic {
  return { severity, message: file === own ? message : `${file}: ${message}`, line, column }
}

/** One that does not pass is asked again for its reasons. */
export function judgeNative(
  { compiled, concern, statics }: NativePolicy,
  { policy, params }: AskedPolicy,
  { subject, data, options }: Asking,
): Judgement {
  const skipped = skipReason(concern, subject)
  if (skipped !== undefined) return { status: 'passed', output: [], findings: [], skipped }
  const evaluate = (explains: boolean): Evaluation =>
    compiled.evaluate({
      importValue: (path) => data.importValue(path) ?? statics.value(path),
      globals: data.globals(policy.code),
      params: new Map(Object.entries(params).map(([name, value]) => [name, toLazyValue(value)])),
      stepsMax: POLICY_STEPS_MAX,
      isCancelled: options.isCancelled,
      explain: explains,
    })
  const first = evaluate(false)
  if (first.result === 'pass') return { status: 'passed', output: printed(first), findings: [] }
  const own = fileOf(policy)
  if (first.result === 'error')
    return { status: 'errored', output: printed(first), findings: errorFindings(first, own) }
  data.reset()
  const findings = failureFindings(evaluate(true), { own, mainAt: compiled.mainAt })
  return { status: 'failed', output: printed(first), findings }
}

function printed({ printed: text }: Evaluation): readonly unknown[] {
  return text === '' ? [] : [{ print: text }]
}

function errorFindings({ error }: Evaluation, own: string): readonly v2.PolicyFinding[] {
  if (error === undefined) return []
  const { message, position } = error
  return [{ rule: null, ...placeOf(position, own), message }]
}

/** A file is named when it is not the policy's own. */
function placeOf({ file, line, column }: Position, own: string) {
  if (line === 0) return { line: null, column: null }
  return { line, column, ...(file === own ? {} : { file }) }
}

interface Places {
  /** The file of the policy. */
  readonly own: string
  readonly mainAt: Position | undefined
}

function failureFindings(evaluation: Evaluation, places: Places): readonly v2.PolicyFinding[] {
  const { rules } = evaluation
  const findings = rules.filter(isFailing).flatMap((rule) => ruleFindings(rule, places.own))
  const main = findings.length === 0 ? [mainFinding(evaluation, places)] : findings
  return main.slice(0, FINDINGS_MAX)
}

function isFailing({ value, failures }: RuleReport): boolean {
  return (value === false || value instanceof Undefined) && failures.length > 0
}

/** Where a rule only names another one that is not true, that one tells more. */
function ruleFindings(report: RuleReport, own: string): readonly v2.PolicyFinding[] {
  const rule = report.name === '' ? null : report.name
  return report.failures.map(({ position, text, value, operands }) => {
    const because = operands.map((operand) => `${operand.text} is ${operand.value}`).join(', ')
    const message = `${text} is ${value}${because === '' ? '' : ` (${because})`}`
    return { rule, ...placeOf(position, own), message, ...valueOf(operands) }
  })
}

function valueOf(operands: readonly { readonly value: string }[]): { value?: string } {
  const [first] = operands
  return first === undefined ? {} : { value: first.value }
}

/** The verdict is not a rule: its value is all there is. */
function mainFinding(
  { value, undefinedAt, rules }: Evaluation,
  { own, mainAt }: Places,
): v2.PolicyFinding {
  const main = rules.find(({ name }) => name === 'main')
  const position = undefinedAt ?? main?.position ?? mainAt
  const place = position === undefined ? { line: null, column: null } : placeOf(position, own)
  const shown = shownValue(value)
  return { rule: 'main', ...place, message: `main is ${shown}`, value: shown }
}

function shownValue(value: Value | undefined): string {
  return value === undefined ? 'undefined' : formatValue(value, VALUE_LENGTH_MAX)
}
