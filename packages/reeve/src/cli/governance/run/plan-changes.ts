import {
  readPlanChanges,
  type PlainObject,
  type PlannedAction,
  type PlannedChange,
} from '@reeve/sdk'
import type { Paint, TextStyle } from '../../output/style.ts'

/** Resources, drift and outputs that a plan changes, with their attributes. */
export function formatPlanChanges(plan: PlainObject, paint: Paint): string {
  const { resources, drift, outputs } = readPlanChanges(plan)
  const linesOf = (changes: readonly PlannedChange[]): readonly string[] =>
    changes.flatMap((change) => changeLines(change, paint))
  return [
    formatSection('Resource changes', linesOf(resources)),
    formatSection('Drift', linesOf(drift)),
    formatSection('Output changes', linesOf(outputs)),
  ]
    .filter((text) => text !== '')
    .join('\n')
}

function formatSection(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${title}:\n${lines.map((line) => `  ${line}\n`).join('')}`
}

const SYMBOLS: Readonly<Record<PlannedAction, readonly [symbol: string, tone: TextStyle]>> = {
  create: ['+', 'added'],
  update: ['~', 'changed'],
  delete: ['-', 'removed'],
  replace: ['-/+', 'changed'],
  'create-first': ['+/-', 'changed'],
  forget: ['.', 'changed'],
  import: ['=', 'added'],
}

function changeLines(change: PlannedChange, paint: Paint): readonly string[] {
  const { name, action, isImported, attributes, text } = change
  const [symbol, tone] = SYMBOLS[action]
  const head = `${paint(tone, symbol)} ${name}${isImported ? ' (imported)' : ''}`
  if (text !== '') return [`${head}: ${text}`]
  return [head, ...attributes.map((attribute) => `    ${attribute.name}: ${attribute.text}`)]
}
