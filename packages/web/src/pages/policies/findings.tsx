import { excerptOf } from './excerpt.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'

/** A finding of a policy; the two APIs use different field names. */
export interface PolicyFindingView {
  readonly rule: string | null
  readonly line: number | null
  readonly file: string | undefined
  readonly message: string
}

interface FindingsProps {
  readonly findings: readonly PolicyFindingView[]
  /** Code of the policy, if it is readable. */
  readonly code: string | undefined
  /** The page of the policy. */
  readonly policy: { readonly organization: string; readonly id: string } | undefined
}

/** The findings, each with the line of the policy that reported it. */
export function Findings({ findings, code, policy }: FindingsProps) {
  if (findings.length === 0) return null
  return (
    <ul className="findings">
      {findings.map((finding, index) => (
        <li key={index}>
          <p>
            {finding.message}
            <FindingLocation finding={finding} policy={policy} />
          </p>
          {!isExcerptShownAbove(findings, index) && <Excerpt finding={finding} code={code} />}
        </li>
      ))}
    </ul>
  )
}

/** Reports whether the previous finding has the same line, whose code is shown once. */
function isExcerptShownAbove(findings: readonly PolicyFindingView[], index: number): boolean {
  const [current, previous] = [findings[index], findings[index - 1]]
  return previous !== undefined && current?.line === previous.line && current.file === previous.file
}

interface FindingLocationProps {
  readonly finding: PolicyFindingView
  readonly policy: FindingsProps['policy']
}

function FindingLocation({ finding: { rule, line, file }, policy }: FindingLocationProps) {
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
  readonly finding: PolicyFindingView
  readonly code: string | undefined
}

/** The code around a finding. Findings in other files of a set show none. */
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
