import type { Field, Nested } from '../../packages/reeve/src/jobspec/schema/table.ts'
import { defaultsOf } from './job-defaults.ts'
import { jobFileOf } from './job-example.ts'
import { documentedBlocks, OTHER_BLOCKS, type DocumentedBlock } from './job-blocks.ts'
import { code, fence, page, table, withPart, type Pages } from './page.ts'

const FOLDER = 'docs/reference/job-file'
export const JOB_FILE_INDEX = `${FOLDER}/README.md`

export const TYPE_NAMES = {
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
