import type { Client } from './client.ts'

/** Changes of a plan: of resources, of what has changed outside of runs, and of outputs. */
export interface PlanChanges {
  readonly resources: readonly PlannedChange[]
  readonly drift: readonly PlannedChange[]
  readonly outputs: readonly PlannedChange[]
}

export type PlannedAction =
  | 'create'
  | 'update'
  | 'delete'
  | 'replace'
  | 'create-first'
  | 'forget'
  | 'import'

/** One resource, or one output. */
export interface PlannedChange {
  /** Address of the resource, or name of the output. */
  readonly name: string
  /** Address of the module of a resource, such as `module.cdn`; empty for the root module. */
  readonly module: string
  readonly action: PlannedAction
  readonly isImported: boolean
  readonly attributes: readonly PlannedAttribute[]
  /** Both sides of an output, which has no attributes; empty for a resource. */
  readonly text: string
}

/** An attribute that differs; the texts of sensitive ones are hidden. */
interface PlannedAttribute {
  readonly name: string
  /** Both sides, or the new one alone. */
  readonly text: string
}

/** Returns what the JSON export of a plan changes; changes without effect are left out. */
export function readPlanChanges(plan: PlainObject): PlanChanges {
  return {
    resources: objectsIn(plan['resource_changes']).flatMap(resourceChange),
    drift: objectsIn(plan['resource_drift']).flatMap(resourceChange),
    outputs: Object.entries(objectAt(plan, 'output_changes')).flatMap(([name, change]) => {
      const plannedChange = isPlainObject(change) ? changeOf(name, change) : undefined
      if (plannedChange === undefined || !isPlainObject(change)) return []
      return [{ ...plannedChange, attributes: [], text: formatSides(readSides(change)) }]
    }),
  }
}

function resourceChange(resource: PlainObject): readonly PlannedChange[] {
  const change = changeOf(textAt(resource, 'address'), objectAt(resource, 'change'))
  return change === undefined ? [] : [{ ...change, module: textAt(resource, 'module_address') }]
}

const ACTIONS: Readonly<Record<string, PlannedAction>> = {
  create: 'create',
  update: 'update',
  delete: 'delete',
  'delete,create': 'replace',
  'create,delete': 'create-first',
  forget: 'forget',
}

/** Returns undefined for a change without effect. */
function changeOf(name: string, change: PlainObject): PlannedChange | undefined {
  const actions = Array.isArray(change['actions']) ? change['actions'].join(',') : ''
  const isImported = isPlainObject(change['importing'])
  const action = ACTIONS[actions] ?? (isImported ? 'import' : undefined)
  if (action === undefined) return undefined
  return { name, module: '', action, isImported, attributes: attributesOf(change), text: '' }
}

/** The two sides of a change, or of one attribute in it. */
interface Sides {
  readonly before: unknown
  readonly after: unknown
  readonly isUnknown: boolean
  readonly isSensitive: boolean
}

function readSides(change: PlainObject): Sides {
  return {
    before: change['before'],
    after: change['after'],
    isUnknown: change['after_unknown'] === true,
    isSensitive: change['before_sensitive'] === true || change['after_sensitive'] === true,
  }
}

/** The attributes that differ, by name. */
function attributesOf(change: PlainObject): readonly PlannedAttribute[] {
  const [before, after] = [objectAt(change, 'before'), objectAt(change, 'after')]
  const unknown = objectAt(change, 'after_unknown')
  const names = new Set([before, after, unknown].flatMap((object) => Object.keys(object)))
  const sensitive = [objectAt(change, 'before_sensitive'), objectAt(change, 'after_sensitive')]
  return [...names].toSorted().flatMap((name) => {
    const sides: Sides = {
      before: before[name],
      after: after[name],
      isUnknown: isMarked(unknown[name]),
      isSensitive: sensitive.some((marks) => isMarked(marks[name])),
    }
    const isEqual = JSON.stringify(sides.before) === JSON.stringify(sides.after)
    const isAbsent = (sides.before ?? null) === null && (sides.after ?? null) === null
    if ((isEqual || isAbsent) && !sides.isUnknown && !sides.isSensitive) return []
    return [{ name, text: formatSides(sides) }]
  })
}

/** Marks have the form of the value: `true` at any depth counts. */
function isMarked(mark: unknown): boolean {
  if (Array.isArray(mark)) return mark.some(isMarked)
  return mark === true || (isPlainObject(mark) && Object.values(mark).some(isMarked))
}

function formatSides({ before, after, isUnknown, isSensitive }: Sides): string {
  if (isSensitive) return '(sensitive)'
  const next = isUnknown ? '(known after apply)' : valueText(after)
  if (before === undefined || before === null) return next
  return after === undefined && !isUnknown
    ? `${valueText(before)} -> null`
    : `${valueText(before)} -> ${next}`
}

/** A resource instance or an output that differs between two states. */
export interface StateChange {
  readonly action: 'added' | 'removed' | 'changed'
  /** Address of the instance, or `output.NAME`. */
  readonly address: string
  readonly attributes: readonly AttributeChange[]
}

/** An attribute that differs; the texts of sensitive ones are hidden. */
interface AttributeChange {
  readonly name: string
  readonly before: string
  readonly after: string
}

/** Compares two states. Sensitive values are compared, and not shown. */
export function compareStates(before: PlainObject, after: PlainObject): readonly StateChange[] {
  const [left, right] = [stateEntries(before), stateEntries(after)]
  const addresses = [...new Set([...left.keys(), ...right.keys()])].toSorted()
  return addresses.flatMap((address): readonly StateChange[] => {
    const [old, next] = [left.get(address), right.get(address)]
    const attributes = attributeChanges(old, next)
    if (old === undefined) return [{ action: 'added', address, attributes }]
    if (next === undefined) return [{ action: 'removed', address, attributes: [] }]
    return attributes.length === 0 ? [] : [{ action: 'changed', address, attributes }]
  })
}

interface StateEntry {
  readonly attributes: PlainObject
  /** Names of attributes with a sensitive value. */
  readonly sensitive: ReadonlySet<string>
}

function stateEntries(state: PlainObject): ReadonlyMap<string, StateEntry> {
  const entries = new Map<string, StateEntry>()
  for (const resource of objectsIn(state['resources']))
    for (const instance of objectsIn(resource['instances'])) {
      const address = `${addressOf(resource)}${indexText(instance['index_key'])}`
      const attributes = objectAt(instance, 'attributes')
      entries.set(address, { attributes, sensitive: sensitiveNames(instance) })
    }
  for (const [name, output] of Object.entries(objectAt(state, 'outputs'))) {
    if (!isPlainObject(output)) continue
    const sensitive = new Set(output['sensitive'] === true ? ['value'] : [])
    entries.set(`output.${name}`, { attributes: { value: output['value'] }, sensitive })
  }
  return entries
}

function addressOf(resource: PlainObject): string {
  const module = textAt(resource, 'module')
  const data = textAt(resource, 'mode') === 'data' ? 'data.' : ''
  const local = `${data}${textAt(resource, 'type')}.${textAt(resource, 'name')}`
  return module === '' ? local : `${module}.${local}`
}

function indexText(key: unknown): string {
  return key === undefined ? '' : `[${JSON.stringify(key)}]`
}

/** Each path is a list of steps; only its first step is the name of an attribute. */
function sensitiveNames(instance: PlainObject): ReadonlySet<string> {
  const paths = instance['sensitive_attributes']
  const firstSteps = Array.isArray(paths) ? paths.map((path: unknown) => objectsIn(path)[0]) : []
  return new Set(firstSteps.flatMap((step) => (step === undefined ? [] : [textAt(step, 'value')])))
}

function attributeChanges(
  old: StateEntry | undefined,
  next: StateEntry | undefined,
): readonly AttributeChange[] {
  const [before, after] = [old?.attributes ?? {}, next?.attributes ?? {}]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
  const isSensitive = (name: string): boolean =>
    old?.sensitive.has(name) === true || next?.sensitive.has(name) === true
  return names
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => ({
      name,
      before: isSensitive(name) ? SENSITIVE_TEXT : valueText(before[name]),
      after: isSensitive(name) ? SENSITIVE_TEXT : valueText(after[name]),
    }))
}

const SENSITIVE_TEXT = '(sensitive)'

/** First and last byte of the log of a phase. */
const STX = 0x02
const ETX = 0x03

const CHUNK_BYTES = 256 * 1024

interface RunLogOptions {
  /** `log-read-url` of a plan or an apply. */
  readonly url: string
  readonly signal?: AbortSignal
}

/**
 * Follows the log of a phase of a run to its end, without its marks. The server holds each request
 * until there is something new.
 */
export async function* followRunLog(
  client: Pick<Client, 'v2'>,
  { url, signal }: RunLogOptions,
): AsyncGenerator<Uint8Array> {
  const params = { upload_key: new URL(url).pathname.split('/').at(-1) ?? '' }
  const options = signal === undefined ? {} : { signal }
  const isWanted = (): boolean => signal?.aborted !== true
  for (let offset = 0; isWanted();) {
    const query = { offset, limit: CHUNK_BYTES }
    const { data } = await client.v2.readRunLog({ params, query, ...options })
    const start = offset === 0 && data[0] === STX ? 1 : 0
    const isOver = data.at(-1) === ETX
    offset += data.length
    if (data.length > start) yield data.subarray(start, isOver ? -1 : undefined)
    if (isOver) return
  }
}

/** Returns a line of a log as text: the message of a structured one, and any other as it is. */
export function formatLogLine(line: string): string {
  if (!line.startsWith('{')) return line
  try {
    const parsed: unknown = JSON.parse(line)
    const message = isPlainObject(parsed) ? parsed['@message'] : undefined
    if (typeof message !== 'string') return line
    const diagnostic = isPlainObject(parsed) ? parsed['diagnostic'] : undefined
    const detail = isPlainObject(diagnostic) ? diagnostic['detail'] : undefined
    return typeof detail === 'string' && detail !== '' ? `${message}\n${detail}` : message
  } catch {
    return line
  }
}

/** An object of a JSON document. */
export type PlainObject = Readonly<Record<string, unknown>>

export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the members of a list that are objects; none if it is no list. */
function objectsIn(value: unknown): readonly PlainObject[] {
  return Array.isArray(value) ? value.filter(isPlainObject) : []
}

function objectAt(value: unknown, name: string): PlainObject {
  const inner = isPlainObject(value) ? value[name] : undefined
  return isPlainObject(inner) ? inner : {}
}

function textAt(value: PlainObject, name: string): string {
  const inner = value[name]
  return typeof inner === 'string' ? inner : ''
}

const VALUE_CHARS_MAX = 200

/** Returns a value on one line, as JSON. */
export function valueText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  return text.length <= VALUE_CHARS_MAX ? text : `${text.slice(0, VALUE_CHARS_MAX)}…`
}
