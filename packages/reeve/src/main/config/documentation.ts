import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installation } from '../installation.ts'
import { describeFilePath, type Option } from './option.ts'
import { optionEntries } from './options.ts'

/** The page with the table of options; running this file regenerates it. */
export const DOCUMENT = join(installation.root, 'docs/reference/configuration.md')

const BEGIN = '<!-- settings: written by packages/reeve/src/main/config/documentation.ts -->'
const END = '<!-- end of settings -->'

/** Replaces the table of the page with one of the current options. */
export function replaceTable(page: string): string {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin === -1 || end < begin) throw new Error(`the page has no place for the table: ${BEGIN}`)
  return `${page.slice(0, begin + BEGIN.length)}\n${renderTable()}${page.slice(end)}`
}

function renderTable(): string {
  const rows = optionEntries.map(([, option]) => optionRow(option))
  const head = ['In a file', 'Flag', 'Environment', 'Value', 'Default', 'Meaning']
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return `${lines.join('\n')}\n`
}

function optionRow({ file, flag, environment, kind, byDefault, help }: Option<unknown>): string[] {
  const usage =
    flag && [flag.long, ...(flag.argument === undefined ? [] : [flag.argument])].join(' ')
  return [
    file === undefined ? '–' : inlineCode(describeFilePath(file)),
    usage === undefined
      ? '–'
      : `${inlineCode(usage)}${kind.flag === 'repeated' ? ', repeatable' : ''}`,
    environment === undefined ? '–' : inlineCode(environment),
    kind.name,
    byDefault.text,
    help,
  ]
}

function inlineCode(text: string): string {
  return `\`${text}\``
}

if (import.meta.main) writeFileSync(DOCUMENT, replaceTable(readFileSync(DOCUMENT, 'utf8')))
