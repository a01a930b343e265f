import { v2 } from '@reeve/contract'
import { includedResources, resource } from '@reeve/sdk'
import { useState } from 'react'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import { useApiAction } from '../../data/api-action.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { ChoiceField, TextField } from '../../components/form.tsx'
import { Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useApiQuery } from '../../data/api-query.ts'
import { dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { decodeText } from './policy-code.ts'

/** The settings of a policy; its name and kind cannot change. */
export function SettingsPane({ organization, policy }: PaneProps) {
  const callApi = useApiAction()
  const { attributes } = policy
  const [description, setDescription] = useState(attributes.description ?? '')
  const [query, setQuery] = useState(attributes.query ?? '')
  const [level, setLevel] = useState<v2.EnforcementLevel>(attributes['enforcement-level'])
  const save = async () => {
    await callApi({
      call: (api) =>
        api.v2.updatePolicy({
          params: { policy_id: policy.id },
          body: resource('policies', {
            description,
            'enforcement-level': level,
            ...(attributes.kind === 'opa' ? { query } : {}),
          }),
        }),
      successMessage: 'The policy is saved.',
    })
  }
  return (
    <>
      <Panel title="Settings">
        <form className="stack" onSubmit={(event) => event.preventDefault()}>
          <ChoiceField<v2.EnforcementLevel>
            label="Enforcement level"
            value={level}
            onChange={setLevel}
            choices={v2.ENFORCEMENT_LEVELS[attributes.kind]}
            hint={LEVEL_HINTS[level]}
          />
          {attributes.kind === 'opa' && (
            <TextField
              label="Query"
              value={query}
              onChange={setQuery}
              hint="The query whose results are denials."
            />
          )}
          <TextField label="Description" isOptional value={description} onChange={setDescription} />
          <div>
            <ActionButton
              kind="primary"
              disabledReason={organizationDisabledReason.updatePolicies(organization)}
              onAction={save}
              isSubmit
            >
              Save settings
            </ActionButton>
          </div>
        </form>
      </Panel>
      <SetsOfPolicy organization={organization.id} policy={policy} />
    </>
  )
}

const LEVEL_HINTS: Readonly<Record<v2.EnforcementLevel, string>> = {
  advisory: 'A failure is a warning.',
  'soft-mandatory': 'It denies; users who may override policies can allow it.',
  'hard-mandatory': 'It denies, and cannot be overridden.',
  mandatory: 'It denies; a set that allows overrides can be overridden.',
}

/** Props of every pane beside the code of a policy. */
export interface PaneProps {
  readonly organization: v2.Organization
  readonly policy: v2.RunPolicy
  /** Code in the editor. */
  readonly code: string
  /** Whether the code differs from the stored one. */
  readonly isChanged: boolean
  /** Called with the lines of the findings, to highlight them in the editor. */
  readonly onFailingLines: (lines: readonly number[]) => void
}

interface VersionsPaneProps {
  readonly policy: v2.RunPolicy
  readonly onCode: (code: string) => void
}

/** The latest uploaded versions of the code. */
export function VersionsPane({ policy, onCode }: VersionsPaneProps) {
  const callApi = useApiAction()
  const openVersion = async (version: string) => {
    const reply = await callApi({
      call: (api) =>
        api.v2.downloadPolicy({ params: { policy_id: policy.id }, query: { version } }),
      successMessage: 'The editor shows this version. Save activates it.',
    })
    if (reply !== undefined) onCode(decodeText(reply.data))
  }
  const versions = useApiQuery(
    ['policy-versions', policy.id],
    (api, signal) => api.v2.listPolicyVersions({ params: { policy_id: policy.id }, signal }),
    { watches: [{ topic: 'Policy' }] },
  )
  return (
    <Panel title="Uploads">
      <QueryView query={versions} what="the versions">
        {({ data }) =>
          data.length === 0 ? (
            <p className="quiet">No uploads yet.</p>
          ) : (
            <ol className="verdicts">
              {data.map(({ id, attributes }) => (
                <li key={id} className="row">
                  <RelativeTime date={dateFromText(attributes['created-at'])} />
                  <span>{attributes['code-size']} bytes</span>
                  <code title={attributes['code-sha256']}>
                    {attributes['code-sha256'].slice(0, 12)}
                  </code>
                  {attributes['code-sha256'] === policy.attributes['code-sha256'] && (
                    <span className="tag">active</span>
                  )}
                  <ActionButton onAction={() => openVersion(id)}>Open in the editor</ActionButton>
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}

interface SetsOfPolicyProps {
  readonly organization: string
  readonly policy: v2.RunPolicy
}

/** The policy sets that contain the policy. */
function SetsOfPolicy({ organization, policy }: SetsOfPolicyProps) {
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
