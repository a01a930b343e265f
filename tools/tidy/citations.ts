import type { Finding } from '../source/finding.ts'
import type { Repository } from '../source/repository.ts'
import type { Source } from '../source/tree.ts'

/**
 * Comments and documents must be understandable with this repository alone. Numbered sections may
 * be cited only of public standards; pages under docs/ are linked.
 */
export function checkCitations(
  repository: Repository,
  sources: ReadonlyMap<string, Source>,
): Finding[] {
  const inSources = [...sources.values()].flatMap(({ path, text }) => citationsIn(path, text))
  const inDocuments = repository.files
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) => citationsIn(path, repository.read(path)))
  return [...inSources, ...inDocuments]
}

/** Public standards, whose sections may be cited by number. */
const STANDARDS = /\b(?:RFC \d+|Semantic Versioning|ECMA-\d+)[^\u00a7]*$/

const CITATION = /\u00a7|\b[Ss]pec [WG]\b|\bchoices\.md\b/g

function citationsIn(path: string, text: string): Finding[] {
  return text.split('\n').flatMap((content, at) =>
    [...content.matchAll(CITATION)]
      .filter(({ index }) => !STANDARDS.test(content.slice(0, index)))
      .map(({ 0: citation }) => ({
        path,
        line: at + 1,
        rule: 'citation',
        message: `"${citation}" cites a document that is not in the repository: say it here, or link a page of docs/`,
      })),
  )
}
