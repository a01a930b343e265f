import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '../kit/result.ts'
import {
  compilePolicy,
  show,
  Undefined,
  viewOf,
  type CompiledPolicy,
  type Evaluation,
  type NativeProblem,
  type RuleReport,
  type Value,
} from '../lang/native/index.ts'
import type { AskedPolicy, Asking, Diagnostic, Judgement, PolicyText } from './judgement.ts'
import { FINDINGS_MAX, POLICY_STEPS_MAX, VALUE_LENGTH_MAX } from './limits.ts'
import { adviceForImport, concernOf, globalsIn, isKnownImport } from './native-data.ts'
import type { Subject } from './subject.ts'

export interface NativePolicy {
  readonly compiled: CompiledPolicy
  /** The only kind of subject that it is about; undefined: any. */
  readonly concern: Subject['kind'] | undefined
  readonly warnings: readonly Diagnostic[]
}

export function compileNative(policy: PolicyText): Result<NativePolicy, readonly Diagnostic[]> {
  const { name, code } = policy
  const compiled = compilePolicy(
    { file: `${name}.native`, text: code },
    { isImport: isKnownImport, adviceFor: adviceForImport, globals: globalsIn(code) },
  )
  if (!compiled.ok) return err(compiled.error.map((problem) => diagnostic('error', problem)))
  const warnings = compiled.value.warnings.map((problem) => diagnostic('warning', problem))
  return ok({ compiled: compiled.value, concern: concernOf(compiled.value), warnings })
}

function diagnostic(severity: Diagnostic['severity'], { message, position }: NativeProblem) {
  return { severity, message, line: position.line, column: position.column }
}

/** Reference policy-languages §1.13. One that does not pass is asked again for its reasons. */
export function judgeNative(
  { compiled, concern }: NativePolicy,
  { policy, params }: AskedPolicy,
  { subject, data, options }: Asking,
): Judgement {
  if (concern !== undefined && concern !== subject.kind)
    return { status: 'passed', output: [{ skipped: `it is about a ${concern}` }], findings: [] }
  const evaluate = (explains: boolean): Evaluation =>
    compiled.evaluate({
      importValue: (path) => data.importValue(path),
      globals: data.globals(policy.code),
      params: new Map(Object.entries(params).map(([name, value]) => [name, viewOf(value)])),
      stepsMax: POLICY_STEPS_MAX,
      isCancelled: options.isCancelled,
      explains,
    })
  const first = evaluate(false)
  if (first.result === 'pass') return { status: 'passed', output: printed(first), findings: [] }
  if (first.result === 'error')
    return { status: 'errored', output: printed(first), findings: errorFindings(first) }
  data.reset()
  return { status: 'failed', output: printed(first), findings: failureFindings(evaluate(true)) }
}

function printed({ printed: text }: Evaluation): readonly unknown[] {
  return text === '' ? [] : [{ print: text }]
}

function errorFindings({ error }: Evaluation): readonly v2.PolicyFinding[] {
  if (error === undefined) return []
  const { message, position } = error
  return [{ rule: null, ...placeOf(position), message }]
}

function placeOf({ line, column }: { readonly line: number; readonly column: number }) {
  return line === 0 ? { line: null, column: null } : { line, column }
}

function failureFindings(evaluation: Evaluation): readonly v2.PolicyFinding[] {
  const findings = evaluation.rules.filter(isFailing).flatMap(ruleFindings)
  const main = findings.length === 0 ? [mainFinding(evaluation)] : findings
  return main.slice(0, FINDINGS_MAX)
}

function isFailing({ value, failures }: RuleReport): boolean {
  return (value === false || value instanceof Undefined) && failures.length > 0
}

/** Where a rule only names another one that is not true, that one tells more. */
function ruleFindings(report: RuleReport): readonly v2.PolicyFinding[] {
  const rule = report.name === '' ? null : report.name
  return report.failures.map(({ position, text, value, operands }) => {
    const because = operands.map((operand) => `${operand.text} is ${operand.value}`).join(', ')
    const message = `${text} is ${value}${because === '' ? '' : ` (${because})`}`
    return { rule, ...placeOf(position), message, ...valueOf(operands) }
  })
}

function valueOf(operands: readonly { readonly value: string }[]): { value?: string } {
  const [first] = operands
  return first === undefined ? {} : { value: first.value }
}

/** The verdict is not a rule: its value is all there is. */
function mainFinding({ value, undefinedAt, rules }: Evaluation): v2.PolicyFinding {
  const main = rules.find(({ name }) => name === 'main')
  const position = undefinedAt ?? main?.position
  const place = position === undefined ? { line: null, column: null } : placeOf(position)
  const shown = shownValue(value)
  return { rule: 'main', ...place, message: `main is ${shown}`, value: shown }
}

function shownValue(value: Value | undefined): string {
  return value === undefined ? 'undefined' : show(value, VALUE_LENGTH_MAX)
}
