import type { v2 } from '@reeve/contract'
import { includedResources } from '@reeve/sdk'
import { useApiQuery } from '../../data/use-read.ts'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'

interface SetsOfPolicyProps {
  readonly organization: string
  readonly policy: v2.RunPolicy
}

/** The policy sets that contain the policy. */
export function SetsOfPolicy({ organization, policy }: SetsOfPolicyProps) {
  const document = useApiQuery(
    ['policy', policy.id, 'sets'],
    (api, signal) =>
      api.v2.readPolicy({
        params: { policy_id: policy.id },
        query: { include: 'policy_sets' },
        signal,
      }),
    { watches: [{ topic: 'Policy' }, { topic: 'PolicySet' }] },
  )
  return (
    <Panel title="Policy sets">
      <QueryView query={document} what="the policy sets">
        {(data) => {
          const sets = includedResources(data, 'policy-sets')
          if (sets.length === 0)
            return (
              <p className="quiet">
                In no policy set, so it is not enforced.{' '}
                <Link href={paths.organization(organization, 'policy-sets')}>
                  Add to a policy set
                </Link>
                .
              </p>
            )
          return (
            <ul className="members">
              {sets.map(({ id, attributes }) => (
                <li key={id}>
                  <Link href={paths.policySet(organization, id)}>{attributes.name}</Link>
                </li>
              ))}
            </ul>
          )
        }}
      </QueryView>
    </Panel>
  )
}
