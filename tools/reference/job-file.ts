import { formatDurationNs } from '@reeve/kit/duration.ts'
import {
  type BlockDocumentation,
  type BlockExample,
  FILE_BLOCKS,
  JOB_BLOCKS,
} from '../../packages/reeve/src/jobspec/documentation/job-blocks.ts'
import {
  GROUP_BLOCKS,
  PLAIN_TASK,
  TASK_BLOCKS,
} from '../../packages/reeve/src/jobspec/documentation/task-blocks.ts'
import { parseJobFile } from '../../packages/reeve/src/jobspec/index.ts'
import type {
  BlockMapping,
  Field,
  Nested,
} from '../../packages/reeve/src/jobspec/schema/block-mapping.ts'
import { JOB } from '../../packages/reeve/src/jobspec/schema/job.ts'
import { VOLUME } from '../../packages/reeve/src/jobspec/schema/volume.ts'
import { canonicalizeJob, PARSE_DEFAULTS } from '../../packages/reeve/src/model/index.ts'
import { code, fence, page, table, withPart, type Pages } from './page.ts'

const FOLDER = 'docs/reference/job-file'
export const JOB_FILE_INDEX = `${FOLDER}/README.md`

const TYPE_NAMES = {
  text: 'string',
  int: 'number',
  bool: 'bool',
  duration: 'duration',
  texts: 'list(string)',
  textMap: 'map(string)',
  textsMap: 'map(list(string))',
} as const satisfies Record<Field['kind'], string>

/** One page for each block, and the list of all blocks in the index page. */
export function jobFilePages(index: string): Pages {
  const blocks = documentedBlocks()
  const pages = new Map(blocks.map((block) => [pathOf(block.name), blockPage(block)]))
  for (const name of Object.keys(OTHER_BLOCKS)) pages.set(pathOf(name), otherPage(name))
  return pages.set(JOB_FILE_INDEX, withPart(index, 'blocks', blockList(blocks)))
}

function pathOf(name: string): string {
  return `${FOLDER}/${name}.md`
}

function blockPage(block: DocumentedBlock): string {
  const { name, documentation } = block
  const { purpose, notes = [], example } = documentation
  return page(`The ${code(name)} block`, [
    purpose,
    table(['', ''], facts(block)),
    ...notes,
    ...(example === undefined ? [] : ['## Example', fence('hcl', jobFileOf(example))]),
    ...argumentsPart(block),
    ...blocksPart(block),
  ])
}

function facts({ name, placements, table: rows }: DocumentedBlock): string[][] {
  const paths = placements.map((path) =>
    ['job', ...path.slice(0, -1).map((step) => step.name)].map((step) => code(step)).join(' › '),
  )
  const row = placements[0]?.at(-1)?.row
  return [
    ...(name === 'job' ? [] : [['Inside', [...new Set(paths)].join(', ')]]),
    ['Label', rows?.label === undefined ? 'none' : `one: ${code(`${name} "…"`)}`],
    [
      'Number',
      row === undefined || row.form === 'one' || row.form === 'free' ? 'at most one' : 'any',
    ],
  ]
}

function argumentsPart(block: DocumentedBlock): readonly string[] {
  if (block.table === undefined)
    return ['## Arguments', 'Any: the content is kept as it is written.']
  const entries = Object.entries(block.table.attributes)
  if (entries.length === 0) return []
  const defaults = defaultsOf(block)
  const rows = entries.map(([name, { kind, help }]) => {
    const isRequired = help.startsWith('Required. ')
    return [
      code(name),
      code(TYPE_NAMES[kind]),
      isRequired ? 'required' : (defaults.get(name) ?? ''),
      isRequired ? help.slice('Required. '.length) : help,
    ]
  })
  return ['## Arguments', table(['Argument', 'Type', 'Default', 'Description'], rows)]
}

function blocksPart({ table: rows }: DocumentedBlock): readonly string[] {
  const entries = Object.entries(rows?.blocks ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1))
  if (entries.length === 0) return []
  const lines = entries.map(([name, row]) => [`[${name}](${name}.md)`, numberOf(row)])
  return ['## Blocks', table(['Block', 'Number'], lines)]
}

function numberOf({ form }: Nested): string {
  return form === 'one' || form === 'free' ? 'at most one' : 'any'
}

function otherPage(name: string): string {
  const block = OTHER_BLOCKS[name]
  if (block === undefined) throw new Error(`no block ${name}`)
  const { purpose, within, example, arguments: rows } = block
  return page(`The ${code(name)} block`, [
    purpose,
    table(['', ''], [['Inside', within]]),
    ...(example === undefined ? [] : ['## Example', fence('hcl', jobFileOf(example))]),
    '## Arguments',
    table(
      ['Argument', 'Type', 'Description'],
      rows.map(([argument, type, help]) => [code(argument), type, help]),
    ),
  ])
}

function blockList(blocks: readonly DocumentedBlock[]): string {
  const rows = blocks.map(({ name, documentation, placements }) => [
    `[${name}](${name}.md)`,
    [
      ...new Set(
        placements.map((path) => code(path.at(-2)?.name ?? (name === 'job' ? 'file' : 'job'))),
      ),
    ].join(', '),
    firstSentence(documentation.purpose),
  ])
  const others = Object.entries(OTHER_BLOCKS).map(([name, { purpose, within }]) => [
    `[${name}](${name}.md)`,
    within,
    firstSentence(purpose),
  ])
  return table(['Block', 'Inside', 'Purpose'], [...rows, ...others])
}

function firstSentence(text: string): string {
  const plain = text
    .replace(/: \[[^\]]*\]\([^)]*\)\.$/, '.')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return /^(Rejected: .*?\.|.*?[.:])(?= [A-Z]|$)/s.exec(plain)?.[1]?.replace(/:$/, '.') ?? plain
}

const TYPES = ['service', 'batch', 'system'] as const

/** Where the ports of a network end up, by the name that the parser gives their rows. */
const MOVED: Readonly<Record<string, string>> = { '@ports': 'DynamicPorts' }

/**
 * The defaults of a block's arguments, as the program computes them: an empty block is parsed and
 * canonicalized in a job of each type. Where types differ, each default names its types.
 */
function defaultsOf(block: DocumentedBlock): ReadonlyMap<string, string> {
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

/** A whole job file around the parts of an example. */
function jobFileOf({ file, job, group, task = PLAIN_TASK }: BlockExample): string {
  const parts = [
    ...(file === undefined ? [] : [`${file}\n`]),
    'job "example" {',
    ...(job === undefined ? [] : [`${indent(job, 1)}\n`]),
    '  group "web" {',
    ...(group === undefined ? [] : [`${indent(group, 2)}\n`]),
    '    task "server" {',
    indent(task, 3),
    '    }',
    '  }',
    '}',
  ]
  return `${parts.join('\n')}\n`
}

function indent(text: string, depth: number): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : '  '.repeat(depth) + line))
    .join('\n')
}

/** One step on the way from the job to a block. */
interface Step {
  readonly name: string
  readonly row: Nested
}

/** A block of job files by its name: where it may stand, and its arguments. */
interface DocumentedBlock {
  readonly name: string
  /** Undefined for blocks whose content is free. */
  readonly table: BlockMapping | undefined
  readonly placements: readonly (readonly Step[])[]
  readonly documentation: BlockDocumentation
}

const DOCUMENTATION: Readonly<Record<string, BlockDocumentation>> = {
  ...JOB_BLOCKS,
  ...GROUP_BLOCKS,
  ...TASK_BLOCKS,
}

/** Every block of a job, the job first. Throws if a block is not documented. */
function documentedBlocks(): readonly DocumentedBlock[] {
  const found = new Map<
    string,
    { table: BlockMapping | undefined; placements: (readonly Step[])[] }
  >()
  found.set('job', { table: JOB, placements: [[]] })
  visit(JOB, [])
  const names = [...found.keys()]
  const [missing] = names.filter((name) => !Object.hasOwn(DOCUMENTATION, name))
  if (missing !== undefined)
    throw new Error(`block ${missing}: describe it in packages/reeve/src/jobspec/documentation`)
  const [stray] = Object.keys(DOCUMENTATION).filter((name) => !found.has(name))
  if (stray !== undefined) throw new Error(`block ${stray} is documented, but no job may have it`)
  return [...found].map(([name, { table: mapping, placements }]) => ({
    name,
    table: mapping,
    placements: placements.toSorted((a, b) => a.length - b.length),
    documentation: DOCUMENTATION[name] ?? { purpose: '' },
  }))

  function visit(mapping: BlockMapping, path: readonly Step[]): void {
    for (const [name, row] of Object.entries(mapping.blocks)) {
      const placement = [...path, { name, row }]
      const known = found.get(name)
      const inner = row.form === 'free' ? undefined : row.table
      if (known === undefined) found.set(name, { table: inner, placements: [placement] })
      else known.placements.push(placement)
      if (inner !== undefined) visit(inner, placement)
    }
  }
}

/** Blocks at the top level of a job file, or anywhere in a job. */
const OTHER_BLOCKS = FILE_BLOCKS

export const VOLUME_FILE_PAGE = 'docs/reference/volume-file.md'

/** The page about volume files; constraints are described with those of jobs. */
export function volumeFilePage(): string {
  const { capability } = VOLUME.blocks
  if (capability?.form !== 'many') throw new Error('volume files have no capability blocks')
  return page('Volume file', [
    'The file that `reeve volume create` and `reeve volume register` read: one ' +
      '[dynamic host volume](../how-to/host-volumes.md) in HCL or its JSON form, without a block ' +
      'around it. A volume as `reeve volume show --json` prints it is accepted, too.',
    '## Arguments',
    argumentTable(VOLUME),
    '## Blocks',
    table(
      ['Block', 'Number', 'Description'],
      [
        [code('capability'), 'any', 'How groups may mount the volume: any of these.'],
        [code('constraint'), 'any', CONSTRAINTS],
      ],
    ),
    `## ${code('capability')}`,
    argumentTable(capability.table),
  ])
}

const CONSTRAINTS =
  'Restricts the nodes on which it may be created, as the ' +
  '[constraint](job-file/constraint.md) of a job, except `distinct_hosts` and `distinct_property`.'

function argumentTable({ attributes }: BlockMapping): string {
  const rows = Object.entries(attributes).map(([name, { kind, help }]) => [
    code(name),
    code(TYPE_NAMES[kind]),
    help,
  ])
  return table(['Argument', 'Type', 'Description'], rows)
}
