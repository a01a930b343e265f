import type { JobPolicyOutcome, v2 } from '@reeve/contract'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useApiQuery } from '../../data/api-query.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'
import '../../style/governance.css'
import { usePolicyCode } from './policy-code.ts'
import { excerptOf } from './policy-text.ts'

/** Policy results for a job, with their findings. */
export function JobOutcomes({ outcomes }: { readonly outcomes: readonly JobPolicyOutcome[] }) {
  return (
    <ul className="verdicts">
      {outcomes.map((outcome) => (
        <JobOutcome key={`${outcome.PolicySetID}/${outcome.PolicyID}`} outcome={outcome} />
      ))}
    </ul>
  )
}

function JobOutcome({ outcome }: { readonly outcome: JobPolicyOutcome }) {
  const { Status, Description, Skipped, Findings: findings, FindingsOmitted } = outcome
  // Passed policies have no findings, so their code is not loaded.
  const policy = usePolicyLocation(Status === 'passed' ? undefined : outcome.PolicyID)
  const code = usePolicyCode(policy?.id)
  return (
    <li>
      <div className="row">
        <OutcomeBadge status={Status} skipped={Skipped} />
        {policy === undefined ? (
          <strong>{outcome.Policy}</strong>
        ) : (
          <Link href={paths.policy(policy.organization, policy.id)}>
            <strong>{outcome.Policy}</strong>
          </Link>
        )}
        <span className="tag">{outcome.Level}</span>
        <span className="quiet">of {outcome.PolicySet}</span>
      </div>
      {Skipped !== undefined && <p className="quiet">Skipped: {Skipped}.</p>}
      {Description !== null && Status !== 'passed' && <p className="quiet">{Description}</p>}
      <Findings
        findings={findings.map(({ Rule, Line, File, Message }) => ({
          rule: Rule,
          line: Line,
          file: File,
          message: Message,
        }))}
        code={code.data}
        policy={policy}
      />
      {FindingsOmitted > 0 && <p className="quiet">{FindingsOmitted} more findings omitted.</p>}
    </li>
  )
}

interface PolicyLocation {
  readonly organization: string
  readonly id: string
}

/** Finds the page of a readable policy; the workload API does not name the organization. */
function usePolicyLocation(policyId: string | undefined): PolicyLocation | undefined {
  const { hasGovernanceToken } = useSession()
  const { data } = useApiQuery(
    ['policy', policyId ?? ''],
    (api, signal) => api.v2.readPolicy({ params: { policy_id: policyId ?? '' }, signal }),
    { enabled: hasGovernanceToken === true && policyId !== undefined && policyId !== '' },
  )
  if (data === undefined) return undefined
  return { organization: data.data.relationships.organization.data.id, id: data.data.id }
}

interface PolicySetResultsProps {
  readonly organization: string
  readonly sets: readonly v2.PolicySetVerdict[]
}

/** Policy results of each set, with their findings. */
export function PolicySetResults({ organization, sets }: PolicySetResultsProps) {
  if (sets.length === 0) return <p className="quiet">No policy set applies here.</p>
  return (
    <div className="stack">
      {sets.map((set) => (
        <section key={set['policy-set-name']} aria-label={set['policy-set-name']}>
          <h3>{set['policy-set-name']}</h3>
          {set['policy-set-description'] !== null && (
            <p className="quiet">{set['policy-set-description']}</p>
          )}
          {set.error !== '' && <p className="bad">{set.error}</p>}
          {set.warnings.map((warning) => (
            <p key={warning} className="warn">
              {warning}
            </p>
          ))}
          <ul className="verdicts">
            {set.outcomes.map((outcome) => (
              <Outcome key={outcome.policy_name} organization={organization} outcome={outcome} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  )
}

interface OutcomeProps {
  readonly organization: string
  readonly outcome: v2.PolicyOutcome
}

function Outcome({ organization, outcome }: OutcomeProps) {
  const { policy_name: name, status, description, skipped } = outcome
  const id = usePolicyId(organization, status === 'passed' ? undefined : name)
  const code = usePolicyCode(id)
  return (
    <li>
      <div className="row">
        <OutcomeBadge status={status} skipped={skipped} />
        {id === undefined ? (
          <strong>{name}</strong>
        ) : (
          <Link href={paths.policy(organization, id)}>
            <strong>{name}</strong>
          </Link>
        )}
        <span className="tag">{outcome.effective_level}</span>
      </div>
      {skipped !== undefined && <p className="quiet">Skipped: {skipped}.</p>}
      {description !== null && status !== 'passed' && <p className="quiet">{description}</p>}
      <Findings
        findings={outcome.findings.map(({ rule, line, file, message }) => ({
          rule,
          line,
          file,
          message,
        }))}
        code={code.data}
        policy={id === undefined ? undefined : { organization, id }}
      />
    </li>
  )
}

/** Finds the ID of a policy by name; policies of versioned sets have no ID. */
function usePolicyId(organization: string, name: string | undefined): string | undefined {
  const { data } = useApiQuery(
    ['policy-named', organization, name ?? ''],
    (api, signal) =>
      api.v2.listOrganizationPolicies({
        params: { organization_name: organization },
        query: { 'search[name]': name, 'page[size]': 100 },
        signal,
      }),
    { enabled: name !== undefined },
  )
  return data?.data.find(({ attributes }) => attributes.name === name)?.id
}

/** A finding of a policy; the two APIs use different field names. */
interface PolicyFindingView {
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

interface OutcomeBadgeProps {
  readonly status: string
  /** Why the policy was skipped; undefined if it was evaluated. */
  readonly skipped: string | undefined
}

/** Status of a policy. The API reports skipped policies as passed; they are shown as skipped. */
function OutcomeBadge({ status, skipped }: OutcomeBadgeProps) {
  if (skipped === undefined) return <StatusBadge state={status} />
  return <StatusBadge state="skipped" text="skipped" />
}
