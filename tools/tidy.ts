import type { Areas } from './source/areas.ts'
import { type Finding, loadAreas, report, REPOSITORY_ROOT } from './source/finding.ts'
import { createGraph } from './source/graph.ts'
import { openRepository, type Repository } from './source/repository.ts'
import { readSources } from './source/tree.ts'
import { applyExceptions } from './tidy/allow.ts'
import * as budgets from './tidy/rules.ts'
import { checkCitations, checkLinks, checkUnlinkedPages } from './tidy/references.ts'
import { toFindings, type FileRule, checkName, checkTodo, checkVendorNames } from './tidy/rules.ts'
import { checkPhrases } from './tidy/phrases.ts'
import { checkReach } from './tidy/reach.ts'
import * as syntax from './tidy/rules.ts'

const FILE_RULES: Readonly<Record<string, FileRule>> = {
  'line-length': budgets.checkLineLength,
  'file-length': budgets.checkFileLength,
  'function-length': budgets.checkFunctionLength,
  parameters: budgets.checkParameters,
  any: syntax.checkAny,
  assertion: syntax.checkAssertion,
  cast: syntax.checkCasts,
  'default-export': syntax.checkDefaultExport,
  purity: syntax.checkPurity,
  'skipped-test': syntax.checkSkippedTests,
  name: checkName,
  todo: checkTodo,
}
const TREE_RULES = [
  'syntax',
  'vendor',
  'dead-file',
  'dead-export',
  'link',
  'unlinked-page',
  'citation',
  'phrase',
]
const RULES: ReadonlySet<string> = new Set([...Object.keys(FILE_RULES), ...TREE_RULES])

/** Every finding of every rule. */
export function tidy(repository: Repository, areas: Areas): Finding[] {
  const findings: Finding[] = []
  const sources = readSources(repository, (path, { line, message }) =>
    findings.push({ path, line, rule: 'syntax', message }),
  )
  for (const source of sources.values())
    for (const [rule, check] of Object.entries(FILE_RULES))
      findings.push(...toFindings(source.path, rule, check(source, areas)))
  const graph = createGraph(repository, sources)
  findings.push(
    ...checkVendorNames(repository),
    ...checkReach(graph),
    ...checkLinks(repository),
    ...checkUnlinkedPages(repository),
    ...checkCitations(repository, sources),
    ...checkPhrases(repository, sources),
  )
  return applyExceptions(repository, findings, RULES)
}

if (import.meta.main) report('tidy', tidy(openRepository(REPOSITORY_ROOT), await loadAreas()))
