import { excerptOf } from './excerpt.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'

/** Why a policy said no; both APIs tell the same with other names. */
export interface FindingFacts {
  readonly rule: string | null
  readonly line: number | null
  readonly file: string | undefined
  readonly message: string
}

interface FindingsProps {
  readonly findings: readonly FindingFacts[]
  /** Of the policy, as far as it is known and may be read. */
  readonly code: string | undefined
  /** Where the policy is shown. */
  readonly policy: { readonly organization: string; readonly id: string } | undefined
}

/** Each reason with the line of the policy that gave it. */
export function Findings({ findings, code, policy }: FindingsProps) {
  if (findings.length === 0) return null
  return (
    <ul className="findings">
      {findings.map((finding, index) => (
        <li key={index}>
          <p>
            {finding.message}
            <FindingPlace finding={finding} policy={policy} />
          </p>
          {!isShown(findings, index) && <Excerpt finding={finding} code={code} />}
        </li>
      ))}
    </ul>
  )
}

/** Reasons of one line follow each other: its code is shown once. */
function isShown(findings: readonly FindingFacts[], index: number): boolean {
  const [now, before] = [findings[index], findings[index - 1]]
  return before !== undefined && now?.line === before.line && now.file === before.file
}

interface FindingPlaceProps {
  readonly finding: FindingFacts
  readonly policy: FindingsProps['policy']
}

function FindingPlace({ finding: { rule, line, file }, policy }: FindingPlaceProps) {
  if (line === null) return null
  const text = `${rule === null ? '' : `${rule}, `}${file ?? ''} line ${line}`
  if (policy === undefined || file !== undefined) return <small> {text}</small>
  return (
    <small>
      {' '}
      <Link href={paths.policy(policy.organization, policy.id, { line })}>{text}</Link>
    </small>
  )
}

interface ExcerptProps {
  readonly finding: FindingFacts
  readonly code: string | undefined
}

/** Other files of a set are not shown: only the policy's own is at hand. */
function Excerpt({ finding: { line, file }, code }: ExcerptProps) {
  if (code === undefined || line === null || file !== undefined) return null
  const lines = excerptOf(code, line)
  if (lines.length === 0) return null
  return (
    <pre className="excerpt" tabIndex={0} aria-label={`Code around line ${line}`}>
      {lines.map(({ number, text }) => (
        <span key={number} className={number === line ? 'failing' : undefined}>
          <span className="line-number">{number}</span>
          {number === line ? <mark>{text || ' '}</mark> : text}
          {'\n'}
        </span>
      ))}
    </pre>
  )
}
