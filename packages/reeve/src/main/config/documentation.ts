import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installation } from '../installation.ts'
import { describeFilePath, type Option } from './option.ts'
import { optionEntries } from './options.ts'

/** The page whose table is written from the options; running this file writes it anew. */
export const DOCUMENT = join(installation.root, 'docs/reference/configuration.md')

const BEGIN = '<!-- settings: written by packages/reeve/src/main/config/documentation.ts -->'
const END = '<!-- end of settings -->'

/** The page with its table as the options are now. */
export function withCurrentTable(page: string): string {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin === -1 || end < begin) throw new Error(`the page has no place for the table: ${BEGIN}`)
  return `${page.slice(0, begin + BEGIN.length)}\n${renderTable()}${page.slice(end)}`
}

function renderTable(): string {
  const rows = optionEntries.map(([, option]) => rowOf(option))
  const head = ['In a file', 'Flag', 'Environment', 'Value', 'Default', 'Meaning']
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return `${lines.join('\n')}\n`
}

function rowOf({ file, flag, environment, kind, byDefault, help }: Option<unknown>): string[] {
  const usage =
    flag && [flag.long, ...(flag.argument === undefined ? [] : [flag.argument])].join(' ')
  return [
    file === undefined ? '–' : code(describeFilePath(file)),
    usage === undefined ? '–' : `${code(usage)}${kind.flag === 'repeated' ? ', repeatable' : ''}`,
    environment === undefined ? '–' : code(environment),
    kind.name,
    byDefault.text,
    help,
  ]
}

function code(text: string): string {
  return `\`${text}\``
}

if (import.meta.main) writeFileSync(DOCUMENT, withCurrentTable(readFileSync(DOCUMENT, 'utf8')))
