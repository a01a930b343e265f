import {
  hostFunction,
  createMap,
  STANDARD_IMPORTS,
  standardImport,
  Undefined,
  toLazyValue,
  type StandardImportOptions,
  type Value,
} from '@reeve/native-policy'
import { JOB_SHAPE } from './field-names.ts'
import { stripIndex } from './plan-configuration.ts'
import { planViews, type PlanViews } from './plan-view.ts'
import type { JobSubject, Subject } from './subject.ts'

/** The imports of run data by both of their spellings. */
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

/** Other systems put their own name before `_var` and `_acl_token`: both mean the same here. */
const VARIABLE_IMPORT = /^[a-z]+_var$/
const TOKEN_GLOBAL = /^[a-z]+_acl_token$/
const TOKEN_GLOBALS = /\b[a-z]+_acl_token\b/g

/** Every import that some policy may use. */
export function isKnownImport(path: string): boolean {
  return STANDARD_IMPORTS.has(path) || DATA_IMPORTS.has(path) || VARIABLE_IMPORT.test(path)
}

/** Every spelling of what a path imports, the path itself included. */
export function importSpellings(path: string): readonly string[] {
  const kind = DATA_IMPORTS.get(path)
  if (kind === undefined) return [path]
  return [...DATA_IMPORTS].flatMap(([spelling, other]) => (other === kind ? [spelling] : []))
}

/** What to use instead of an import that there is not. */
export function adviceForImport(path: string): string | undefined {
  const current = `${path}/v2`
  if (DATA_IMPORTS.has(current)) return `use "${current}"`
  if (path === 'http') return 'policies here reach no network'
  const names = [...STANDARD_IMPORTS, ...DATA_IMPORTS.keys()]
  return `there are ${names.toSorted().join(', ')}`
}

/** Variables that only jobs bring, beside the token. */
const JOB_GLOBALS: readonly string[] = ['job', 'existing_job', 'job_exists', 'namespace']

/**
 * What kind of subject a policy is about, told by what it reads; undefined when that does not tell.
 * One set may so guard plans and jobs with policies of its own for each.
 */
export function concernOf(policy: {
  readonly imports: readonly string[]
  readonly globals: readonly string[]
}): Subject['kind'] | undefined {
  const readsPlan = policy.imports.some((path) => DATA_IMPORTS.has(path))
  const readsJob =
    policy.globals.some((name) => JOB_GLOBALS.includes(name) || TOKEN_GLOBAL.test(name)) ||
    policy.imports.some((path) => VARIABLE_IMPORT.test(path))
  if (readsPlan === readsJob) return undefined
  return readsPlan ? 'plan' : 'job'
}

/** Why a policy has nothing to say about a subject; undefined when it is to be asked. */
export function skipReason(concern: Subject['kind'] | undefined, subject: Subject) {
  return concern === undefined || concern === subject.kind ? undefined : `it is about a ${concern}`
}

/** The variables that a policy finds in its file, whatever it judges. */
export function globalsIn(code: string): readonly string[] {
  const tokens = new Set(code.match(TOKEN_GLOBALS))
  return [...JOB_GLOBALS, ...tokens]
}

/** One subject as native policies see it; made once and shared by all policies. */
export class NativeData {
  readonly #subject: Subject
  readonly #settings: StandardImportOptions
  readonly #views: PlanViews | undefined
  readonly #values = new Map<string, Value>()

  constructor(subject: Subject, settings: StandardImportOptions) {
    this.#subject = subject
    this.#settings = settings
    this.#views = subject.kind === 'plan' ? planViews(subject.plan) : undefined
  }

  /** Made anew for each policy where a policy may change what it gets. */
  importValue(path: string): Value | undefined {
    const known = this.#values.get(path)
    if (known !== undefined) return known
    const made = standardImport(path, this.#settings) ?? this.#dataImport(path)
    if (made !== undefined) this.#values.set(path, made)
    return made
  }

  /** Another policy begins: what the last one may have changed in its views is forgotten. */
  reset(): void {
    this.#values.clear()
  }

  globals(code: string): ReadonlyMap<string, Value> {
    const subject = this.#subject
    if (subject.kind !== 'job') return new Map()
    const { job, existingJob, namespace, token } = subject
    const globals = new Map<string, Value>([
      ['job', toLazyValue(job, JOB_SHAPE)],
      ['existing_job', existingJob === undefined ? null : toLazyValue(existingJob, JOB_SHAPE)],
      ['job_exists', existingJob !== undefined],
      ['namespace', namespace],
    ])
    for (const name of code.match(TOKEN_GLOBALS) ?? [])
      globals.set(
        name,
        token === undefined ? new Undefined(undefined) : toLazyValue(token, JOB_SHAPE),
      )
    return globals
  }

  #dataImport(path: string): Value | undefined {
    const subject = this.#subject
    if (subject.kind === 'job') return VARIABLE_IMPORT.test(path) ? variables(subject) : undefined
    const kind = DATA_IMPORTS.get(path)
    if (kind === undefined || this.#views === undefined) return undefined
    if (kind === 'run') return toLazyValue(subject.run)
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

function variables({ variables: known, namespace }: JobSubject): Value {
  const get = hostFunction('get', [1, 1], ([path], context) => {
    if (typeof path !== 'string') return context.fail('get needs a path')
    const [name = '', wanted = namespace] = path.split('@')
    const found = known.get(`${wanted}@${name}`)
    return found === undefined ? context.undefinedHere : toLazyValue(found)
  })
  return createMap({ get })
}
