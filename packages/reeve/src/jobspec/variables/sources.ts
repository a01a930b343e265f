import {
  didYouMean,
  errorAt,
  readPartialContent,
  makeSource,
  parseExpression,
  quoteText,
  warningAt,
  type Body,
  type Scope,
  type Span,
  type Type,
  type Value,
  makeObject,
  type ObjectValue,
} from '@reeve/hcl'
import { report, reportAll, type DiagnosticList } from '../diagnostics.ts'
import {
  checkRule,
  convertTo,
  type Declaration,
  evaluateLiteral,
  type SuppliedValue,
} from './declarations.ts'

/** Collects the values of variables; later ones override. */
interface VariableCollector {
  readonly declarations: ReadonlyMap<string, Declaration>
  readonly values: Map<string, SuppliedValue>
  readonly scope: Scope
  readonly findings: DiagnosticList
  /** Whether a value for an undeclared variable is an error instead of a warning. */
  readonly strict: boolean
}

/** The only error that leaves all values known. */
const UNDECLARED = 'Undeclared variable'

/** Collects a variable file, which may only have attributes with literal values. */
function collectBody(body: Body, collecting: VariableCollector): void {
  const { scope, findings } = collecting
  const { content, diagnostics } = readPartialContent(body, { otherAttributes: {} })
  reportAll(findings, diagnostics)
  for (const { name, nameSpan, expression } of content.attributes.values()) {
    const declaration = findDeclaration(name, nameSpan, collecting)
    const value = evaluateLiteral(expression, { scope, findings })
    if (declaration !== undefined) assign(declaration, { value, span: expression.span }, collecting)
  }
}

/** Prefix of environment variables that set job file variables. */
const ENVIRONMENT_PREFIX = 'REEVE_VAR_'

/** Undeclared names are ignored: the environment serves many job files. */
function collectEnvironment(
  {
    environment,
    variablePrefixes,
  }: {
    readonly environment: Readonly<Record<string, string | undefined>>
    readonly variablePrefixes: readonly string[]
  },
  collecting: VariableCollector,
): void {
  for (const declaration of collecting.declarations.values()) {
    const names = [ENVIRONMENT_PREFIX, ...variablePrefixes].map((one) => one + declaration.name)
    const file = names.find((name) => Object.hasOwn(environment, name))
    const text = file === undefined ? undefined : environment[file]
    if (file !== undefined && text !== undefined)
      collectText(declaration, { text, file }, collecting)
  }
}

function collectFlags(
  flags: Readonly<Record<string, string>>,
  collecting: VariableCollector,
): void {
  for (const [name, text] of Object.entries(flags)) {
    const file = `--var ${name}`
    const declaration = findDeclaration(name, spanOfText(file, text), collecting)
    if (declaration !== undefined) collectText(declaration, { text, file }, collecting)
  }
}

function spanOfText(file: string, text: string): Span {
  return { source: makeSource(file, text), start: 0, end: text.length }
}

/**
 * For strings, numbers and untyped variables the text is the value; for other types it is an
 * expression.
 */
function collectText(
  declaration: Declaration,
  { text, file }: { readonly text: string; readonly file: string },
  collecting: VariableCollector,
): void {
  if (acceptsPlainText(declaration.type))
    return assign(declaration, { value: text, span: spanOfText(file, text) }, collecting)
  const { scope, findings } = collecting
  const parsed = parseExpression(text, file)
  if (!parsed.ok) reportAll(findings, parsed.error)
  const value = parsed.ok ? evaluateLiteral(parsed.value, { scope, findings }) : undefined
  assign(declaration, { value, span: spanOfText(file, text) }, collecting)
}

function acceptsPlainText(type: Type | undefined): boolean {
  return type === undefined || type.kind === 'string' || type.kind === 'number'
}

function findDeclaration(
  name: string,
  span: Span,
  { declarations, findings, strict }: VariableCollector,
): Declaration | undefined {
  const found = declarations.get(name)
  if (found !== undefined) return found
  const at = strict ? errorAt : warningAt
  report(findings, () => {
    const hint = didYouMean(name, declarations.keys())
    const detail = `The job file declares no variable named ${quoteText(name)}.${hint}`
    return at(span, UNDECLARED, detail)
  })
  return undefined
}

/** Undefined stands for a value that failed and is already reported. */
function assign(
  { name, type }: Declaration,
  { value, span }: { readonly value: Value | undefined; readonly span: Span },
  { findings, values }: VariableCollector,
): void {
  const subject = `The value of ${quoteText(name)}`
  const converted =
    value === undefined ? undefined : convertTo(type, { value, span }, { subject, findings })
  // A value that failed is not also reported as missing.
  values.set(name, converted ?? { value: null, span })
}

/** Sources of values in ascending precedence. */
interface VariableSources {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Additional prefixes of environment variables; the product's own prefix takes precedence. */
  readonly variablePrefixes: readonly string[]
  /** Variable files in order, the text of the request last. */
  readonly bodies: readonly Body[]
  readonly flags: Readonly<Record<string, string>>
}

interface Variables {
  readonly values: ObjectValue
  /** Whether every variable has a value of its type; validation rules may still reject it. */
  readonly isComplete: boolean
}

/**
 * Resolves the value of every declared variable: default, environment, variable files, flags, in
 * ascending precedence. Reports unset and invalid values.
 */
export function resolveVariables(
  sources: VariableSources,
  options: Omit<VariableCollector, 'values'>,
): Variables {
  const collecting: VariableCollector = { ...options, values: new Map() }
  collectEnvironment(sources, collecting)
  for (const body of sources.bodies) collectBody(body, collecting)
  collectFlags(sources.flags, collecting)
  const values = makeObject(
    [...options.declarations.values()].flatMap((declaration) => {
      const given = collecting.values.get(declaration.name) ?? declaration.defaultValue
      if (given !== undefined) return [[declaration.name, given.value] as const]
      const { name, span } = declaration
      const detail = () =>
        `The variable ${quoteText(name)} has no default, so it must be set. Give it a default, or a value along with the file: ${name} = …`
      report(options.findings, () => errorAt(span, 'Unset variable', detail()))
      return []
    }),
  )
  const isComplete = options.findings.errors.every(({ summary }) => summary === UNDECLARED)
  // Validating a missing or invalid value would only repeat the error.
  if (isComplete) checkRules(collecting)
  return { values, isComplete }
}

function checkRules({ declarations, values, scope, findings }: VariableCollector): void {
  for (const { name, defaultValue, rules } of declarations.values()) {
    const given = values.get(name) ?? defaultValue
    if (given === undefined) continue
    for (const rule of rules) checkRule(rule, { name, given, scope, findings })
  }
}
