import type { Finding } from '../source/finding.ts'
import { isTest, type Repository } from '../source/repository.ts'
import type { Source } from '../source/tree.ts'

/** Phrases that readers of this field have to translate, and what to write instead. */
const PHRASES: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [
    /(?<=^|\n|[.!?:|] |[-*] )(?:What|Who|Whoever|Whatever|Whose|One that|Those that) [a-z](?![^.!?]*\?)/g,
    'begin with the subject of the sentence',
  ],
  [/\b(?:tells? of|told of|(?:is|are|was|be|been) told)\b/gi, 'reports, notifies, receives'],
  [/\b(?:hears? of|heard of)\b/gi, 'receives, is notified of'],
  [/\blet(?:s|ting)? go\b/gi, 'release, close, drop'],
  [/\btak(?:e|es|en|ing) away\b/gi, 'remove, revoke, evict'],
  [/\bpass(?:es|ed|ing) over\b/gi, 'skip, override, ignore'],
  [/\blook(?:s|ed|ing)? at\b/gi, 'inspect, check, read, compare'],
  [/\bours\b/gi, "Reeve's"],
  [/\b(?:nobody|somebody|anybody|whoever)\b/gi, 'name the user, caller, client or operator'],
  [/\b(?:that|what|which) (?:is|are|was|were) there\b/gi, 'exists, is stored, is present'],
  [/\bsa(?:ys?|id) (?:nothing )?of\b/gi, 'describes, reports, states about'],
  [/\bask(?:s|ed)? again\b/gi, 'retry, repeat the request'],
]

/** Checked paths. Add further folders as they are reworded. */
const CHECKED: readonly RegExp[] = [
  /^packages\/(?:contract|go-template|hcl|kit|native-policy|rego|sdk)\//,
  /^packages\/reeve\/(?:bench|sim|fuzz|native)\//,
  /^packages\/reeve\/src\/(?:acl|compat|governance|infrastructure|jobspec|judging|lang|policy-tools|runner|threads|tls)\//,
  /^tools\//,
]

/** This rule and its test name the phrases. */
const EXEMPT = /^tools\/tidy(?:\/phrases|\.test)\.ts$|CHANGELOG|\/decisions\//

/** Comments and documents in the words of the field. */
export function checkPhrases(
  repository: Repository,
  sources: ReadonlyMap<string, Source>,
): Finding[] {
  const isChecked = (path: string): boolean =>
    CHECKED.some((area) => area.test(path)) && !EXEMPT.test(path)
  const comments = [...sources.values()]
    .filter(({ path }) => isChecked(path) && !isTest(path))
    .flatMap(({ path, comments: all }) =>
      all.flatMap(({ value, loc }) => findingsIn(path, plainComment(value), loc.start.line)),
    )
  const documents = repository.files
    .filter((path) => path.endsWith('.md') && isChecked(path))
    .flatMap((path) => findingsIn(path, withoutFences(repository.read(path)), 1))
  return [...comments, ...documents]
}

/** The text of a comment, line by line, without the stars of a block. */
function plainComment(value: string): string {
  return value.replaceAll(/^[ \t]*\*? ?/gm, '')
}

/** The Markdown with the lines of code blocks emptied. */
function withoutFences(markdown: string): string {
  let isCode = false
  const keep = (line: string): string => {
    if (!/^\s*(?:`{3,}|~{3,})/.test(line)) return isCode ? '' : line
    isCode = !isCode
    return ''
  }
  return markdown.split('\n').map(keep).join('\n')
}

function findingsIn(path: string, text: string, firstLine: number): Finding[] {
  // A phrase may be wrapped. Line feeds around an empty line stay: a paragraph begins there.
  const joined = text.replaceAll(/(?<!\n)\n(?!\n)/g, ' ')
  const findings = PHRASES.flatMap(([phrase, instead]) =>
    [...joined.matchAll(phrase)].map(({ index, 0: found }) => ({
      path,
      line: firstLine + text.slice(0, index).split('\n').length - 1,
      rule: 'phrase',
      message: `"${found.trim()}": ${instead}`,
    })),
  )
  return findings.toSorted((a, b) => a.line - b.line)
}
