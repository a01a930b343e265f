import { formatDurationNs } from '@reeve/kit/duration.ts'
import { parseJobFile } from '../../packages/reeve/src/jobspec/index.ts'
import type { Field } from '../../packages/reeve/src/jobspec/schema/table.ts'
import { canonicalizeJob, PARSE_DEFAULTS } from '../../packages/reeve/src/model/index.ts'
import { jobFileOf } from './job-example.ts'
import type { DocumentedBlock } from './job-blocks.ts'

const TYPES = ['service', 'batch', 'system'] as const

/** Where the ports of a network end up, by the name that the parser gives their rows. */
const MOVED: Readonly<Record<string, string>> = { '@ports': 'DynamicPorts' }

/**
 * The defaults of a block's arguments, as the program computes them: an empty block is parsed and
 * canonicalized in a job of each type. Where types differ, each default names its types.
 */
export function defaultsOf(block: DocumentedBlock): ReadonlyMap<string, string> {
  const records = TYPES.map((type) => [type, emptyRecord(block, type)] as const)
  const defaults = new Map<string, string>()
  for (const [name, field] of Object.entries(block.table?.attributes ?? {})) {
    const byText = new Map<string, string[]>()
    for (const [type, record] of records) {
      if (record === undefined || field.to.startsWith('@')) continue
      const text = valueText(Reflect.get(record, field.to), field)
      if (text !== '') byText.set(text, [...(byText.get(text) ?? []), type])
    }
    defaults.set(name, defaultText(byText))
  }
  return defaults
}

function defaultText(byText: ReadonlyMap<string, readonly string[]>): string {
  const entries = [...byText]
  if (entries.length <= 1) return entries[0]?.[0] ?? ''
  return entries.map(([text, types]) => `${text} (${types.join(', ')})`).join(', ')
}

function emptyRecord(block: DocumentedBlock, type: string): object | undefined {
  const placement =
    block.placements.find((path) => path.at(-2)?.name === 'group' && isPlain(path)) ??
    block.placements.find(isPlain)
  if (placement === undefined) return undefined
  const path = placement.map(({ row }) => MOVED[row.to] ?? row.to)
  const job: unknown = canonicalJob(jobText(placement, type))
  return path.reduce<object | undefined>((at, key) => {
    const inside: unknown = at === undefined ? undefined : Reflect.get(at, key)
    return asObject(Array.isArray(inside) ? inside[0] : labelled(inside, key))
  }, asObject(job))
}

/** The volumes of a group are a map with their labels as keys. */
function labelled(value: unknown, key: string): unknown {
  return key === 'Volumes' && asObject(value) !== undefined
    ? Reflect.get(Object(value), 'example')
    : value
}

function isPlain(path: DocumentedBlock['placements'][number]): boolean {
  return path.every(({ row }) => !row.to.startsWith('@') || Object.hasOwn(MOVED, row.to))
}

/** The path of a block written out, with the group and task that every job needs. */
function jobText(placement: DocumentedBlock['placements'][number], type: string): string {
  const names = placement.map(({ name }) => name)
  const [first, second] = names
  const depth = first !== 'group' ? 0 : second !== 'task' ? 1 : 2
  const inner = placement.slice(depth).reduceRight((body, { name, row }) => {
    const hasLabel = row.form !== 'free' && row.table.label !== undefined
    const label = !hasLabel ? '' : name === 'scaling' ? ' "cpu"' : ' "example"'
    return `${name}${label} {\n${body}\n}`
  }, '')
  const job = `type = "${type}"`
  if (depth === 0) return jobFileOf({ job: `${job}\n${inner}` })
  return jobFileOf(depth === 1 ? { job, group: inner } : { job, task: `driver = ""\n${inner}` })
}

function canonicalJob(text: string): unknown {
  const random = { next: () => 0 }
  const read = parseJobFile({ file: 'default.hcl', text, strict: true, files: undefined, random })
  if (!read.ok) throw new Error(`the empty block of a page: ${JSON.stringify(read.error)}\n${text}`)
  return canonicalizeJob(read.value.job, PARSE_DEFAULTS)
}

function asObject(value: unknown): object | undefined {
  return typeof value === 'object' && value !== null ? value : undefined
}

/** Empty where there is no default, and for what is made from the names of the example. */
function valueText(value: unknown, { kind }: Field): string {
  if (value === null || value === undefined || value === '') return ''
  if (kind === 'duration' && typeof value === 'number') return `\`"${shortDuration(value)}"\``
  const text = JSON.stringify(value)
  return /example|"web|"server/.test(text) ? '' : `\`${text}\``
}

/** `5m0s` as people write it: `5m`. */
function shortDuration(ns: number): string {
  return formatDurationNs(ns)
    .replace(/(?<=[hm])0s$/, '')
    .replace(/(?<=h)0m$/, '')
}
