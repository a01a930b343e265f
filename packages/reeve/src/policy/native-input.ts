import {
  hostFunction,
  createMap,
  STANDARD_IMPORTS,
  standardImport,
  Undefined,
  toLazyValue,
  type StandardImportOptions,
  type Value,
  type FieldMapping,
} from '@reeve/native-policy'
import { createPlanViews, type PlanViews, stripIndex } from './plan-views.ts'
import type { JobInput, PolicyInput } from './policy-input.ts'

/** Imports of run data, by both of their names. */
const DATA_IMPORTS: ReadonlyMap<string, 'plan' | 'state' | 'config' | 'run'> = new Map([
  ['plan/v2', 'plan'],
  ['tfplan/v2', 'plan'],
  ['state/v2', 'state'],
  ['tfstate/v2', 'state'],
  ['config/v2', 'config'],
  ['tfconfig/v2', 'config'],
  ['run', 'run'],
  ['tfrun', 'run'],
])

/** Other systems prefix `_var` and `_acl_token` with their own name; any prefix is accepted. */
const VARIABLE_IMPORT = /^[a-z]+_var$/
const TOKEN_GLOBAL = /^[a-z]+_acl_token$/
const TOKEN_GLOBAL_NAMES = /\b[a-z]+_acl_token\b/g

/** Reports whether a policy may import this path. */
export function isKnownImport(path: string): boolean {
  return STANDARD_IMPORTS.has(path) || DATA_IMPORTS.has(path) || VARIABLE_IMPORT.test(path)
}

/** Returns all names of an import, including the given one. */
export function importAliases(path: string): readonly string[] {
  const kind = DATA_IMPORTS.get(path)
  if (kind === undefined) return [path]
  return [...DATA_IMPORTS].flatMap(([spelling, other]) => (other === kind ? [spelling] : []))
}

/** Returns a hint for an unknown import. */
export function importHint(path: string): string | undefined {
  const current = `${path}/v2`
  if (DATA_IMPORTS.has(current)) return `use "${current}"`
  if (path === 'http') return 'policies here reach no network'
  const names = [...STANDARD_IMPORTS, ...DATA_IMPORTS.keys()]
  return `there are ${names.toSorted().join(', ')}`
}

/** Globals that exist only for jobs, besides the token. */
const JOB_GLOBALS: readonly string[] = ['job', 'existing_job', 'job_exists', 'namespace']

/**
 * Returns the kind of input that a policy applies to, derived from its imports and globals;
 * undefined if they do not determine it. So one set can have policies for both plans and jobs.
 */
export function inputKindOf(policy: {
  readonly imports: readonly string[]
  readonly globals: readonly string[]
}): PolicyInput['kind'] | undefined {
  const readsPlan = policy.imports.some((path) => DATA_IMPORTS.has(path))
  const readsJob =
    policy.globals.some((name) => JOB_GLOBALS.includes(name) || TOKEN_GLOBAL.test(name)) ||
    policy.imports.some((path) => VARIABLE_IMPORT.test(path))
  if (readsPlan === readsJob) return undefined
  return readsPlan ? 'plan' : 'job'
}

/** Returns why a policy is skipped for an input; undefined if it applies. */
export function skipReason(inputKind: PolicyInput['kind'] | undefined, input: PolicyInput) {
  return inputKind === undefined || inputKind === input.kind
    ? undefined
    : `it is about a ${inputKind}`
}

/** Returns the globals that a policy may use, for any input. */
export function hostGlobals(code: string): readonly string[] {
  const tokens = new Set(code.match(TOKEN_GLOBAL_NAMES))
  return [...JOB_GLOBALS, ...tokens]
}

/** An input in the form that native policies receive; created once and shared by all policies. */
export class NativeInput {
  readonly #input: PolicyInput
  readonly #options: StandardImportOptions
  readonly #views: PlanViews | undefined
  readonly #values = new Map<string, Value>()

  constructor(input: PolicyInput, options: StandardImportOptions) {
    this.#input = input
    this.#options = options
    this.#views = input.kind === 'plan' ? createPlanViews(input.plan) : undefined
  }

  /** Values are created again for each policy, because a policy may modify them. */
  importValue(path: string): Value | undefined {
    const cached = this.#values.get(path)
    if (cached !== undefined) return cached
    const created = standardImport(path, this.#options) ?? this.#dataImport(path)
    if (created !== undefined) this.#values.set(path, created)
    return created
  }

  /** Discards values that the previous policy may have modified. */
  reset(): void {
    this.#values.clear()
  }

  globals(code: string): ReadonlyMap<string, Value> {
    const input = this.#input
    if (input.kind !== 'job') return new Map()
    const { job, existingJob, namespace, token } = input
    const globals = new Map<string, Value>([
      ['job', toLazyValue(job, JOB_FIELDS)],
      ['existing_job', existingJob === undefined ? null : toLazyValue(existingJob, JOB_FIELDS)],
      ['job_exists', existingJob !== undefined],
      ['namespace', namespace],
    ])
    for (const name of code.match(TOKEN_GLOBAL_NAMES) ?? [])
      globals.set(
        name,
        token === undefined ? new Undefined(undefined) : toLazyValue(token, JOB_FIELDS),
      )
    return globals
  }

  #dataImport(path: string): Value | undefined {
    const input = this.#input
    if (input.kind === 'job') return VARIABLE_IMPORT.test(path) ? variablesImport(input) : undefined
    const kind = DATA_IMPORTS.get(path)
    if (kind === undefined || this.#views === undefined) return undefined
    if (kind === 'run') return toLazyValue(input.run)
    const view = toLazyValue(this.#views[kind]())
    return kind === 'config' ? withStripIndex(view) : view
  }
}

function withStripIndex(view: Value): Value {
  const strip = hostFunction('strip_index', [1, 1], ([address], context) =>
    typeof address === 'string' ? stripIndex(address) : context.fail('strip_index needs a string'),
  )
  if (view !== null && typeof view === 'object' && 'isMap' in view) view.set('strip_index', strip)
  return view
}

function variablesImport({ variables: available, namespace }: JobInput): Value {
  const get = hostFunction('get', [1, 1], ([path], context) => {
    if (typeof path !== 'string') return context.fail('get needs a path')
    const [name = '', variableNamespace = namespace] = path.split('@')
    const found = available.get(`${variableNamespace}@${name}`)
    return found === undefined ? context.undefinedHere : toLazyValue(found)
  })
  return createMap({ get })
}

/** Fields whose members are named by users: these names are not converted. */
const USER_DATA_FIELDS: ReadonlySet<string> = new Set([
  'Meta',
  'Env',
  'Config',
  'Attributes',
  'Options',
  'Labels',
  'Params',
  'Sysctl',
  'Headers',
  'Header',
  'MetaOptional',
  'MetaRequired',
])

const UNCHANGED: FieldMapping = { nameOf: (field) => field, shapeOf: () => UNCHANGED }

/** Field names of jobs in native policies: snake case, such as `task_groups`. */
const JOB_FIELDS: FieldMapping = {
  nameOf: snakeCase,
  shapeOf: (field) => (USER_DATA_FIELDS.has(field) ? UNCHANGED : JOB_FIELDS),
}

const snakeCaseCache = new Map<string, string>()
const CACHED_NAMES_MAX = 5000

/** Converts a field name to snake case: `SizeMB` to `size_mb`, `AccessorID` to `accessor_id`. */
function snakeCase(field: string): string {
  const cached = snakeCaseCache.get(field)
  if (cached !== undefined) return cached
  const name = field
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
  // Jobs have few field names, and names in user data are not converted, so the cache stays small.
  if (snakeCaseCache.size < CACHED_NAMES_MAX) snakeCaseCache.set(field, name)
  return name
}
