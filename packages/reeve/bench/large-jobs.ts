import { LIMITS } from '../src/model/index.ts'

export interface NamedText {
  readonly name: string
  readonly text: string
}

/**
 * Requests with the largest allowed jobs (docs/contributing/decisions/0007-limits.md), each large
 * in a different way.
 */
export function largestJobs(): readonly NamedText[] {
  const entries = LIMITS.jobEntriesMax - 100
  const rule = (i: number) => ({ LTarget: `\${attr.a${i}}`, RTarget: `x${i}`, Operand: 'regexp' })
  const ports = many(entries, (i) => ({ Label: `p${i}` }))
  const meta = (chars: number) =>
    Object.fromEntries(many(entries, (i) => [`k${i}`, 'x'.repeat(chars)] as const))
  const services = many(entries, (i) => ({ Name: `s${i}`, Provider: 'native' }))
  const templates = many(entries, (i) => ({ DestPath: `local/${i}`, EmbeddedTmpl: 'x' }))
  const jobs = {
    'groups with one task each': aJob(LIMITS.jobPartsMax / 2),
    'constraints, regular expressions': { ...aJob(1), Constraints: many(3_000, rule) },
    'entries of Meta, 4 MB': { ...aJob(1), Meta: meta(400) },
    'entries of Meta, short': { ...aJob(1), Meta: meta(4) },
    ports: aJob(1, { Networks: [{ DynamicPorts: ports }] }),
    services: aJob(1, { Services: services }),
    templates: aJob(1, { Tasks: [{ ...aTask(), Templates: templates }] }),
  }
  return Object.entries(jobs).map(([name, Job]) => ({ name, text: JSON.stringify({ Job }) }))
}

/** Bodies of some megabytes that would be slow to parse; most are rejected. */
export function hostileBodies(): readonly NamedText[] {
  const { jsonContainersMax: containers, jsonShapesMax: shapes } = LIMITS
  const list = (parts: readonly string[]): string => `[${parts.join()}]`
  const own = (count: number) => list(many(count, (i) => `{"k${i}":1}`))
  return [
    { name: 'a list in a list, without end', text: '['.repeat(3_000_000) },
    { name: 'lists 500 deep, side by side', text: list(many(4_000, () => nested(500))) },
    { name: 'empty objects', text: list(many(1_300_000, () => '{}')) },
    { name: 'as many as are allowed', text: list(many(containers - 1, () => '{}')) },
    { name: 'objects, each with its own name', text: own(300_000) },
    { name: 'as many as are allowed', text: own(shapes - 100) },
    { name: 'empty texts', text: list(many(1_300_000, () => '""')) },
    { name: 'one text of escapes', text: `["${'\\"'.repeat(2_000_000)}"]` },
  ]
}

function aTask() {
  return { Name: 't', Driver: 'raw_exec', Config: { command: '/bin/sh' } }
}

function aJob(groups: number, fields: object = {}) {
  const TaskGroups = many(groups, (i) => ({ Name: `g${i}`, Tasks: [aTask()], ...fields }))
  return { ID: 'large', Datacenters: ['*'], TaskGroups }
}

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth)
}

function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}
