import type { v2 } from '@reeve/contract'
import { useApiQuery } from '../../data/use-read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { Findings } from './findings.tsx'
import { OutcomeBadge } from './outcome-badge.tsx'
import { usePolicyCode } from './use-code.ts'

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
