import type { v2 } from '@reeve/contract'
import { useEffect, useState } from 'react'
import { organizationCan } from '../../actions/governance-can.ts'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { Editor } from '../../editor/lazy-editor.tsx'
import { ActionButton } from '../../parts/action-button.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { Loading } from '../../parts/loading.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { paths, POLICY_PANES, type PolicyPane } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { DeleteButton } from '../governance/deletion.tsx'
import { crumbsOf, InOrganization, OfOrganization } from '../governance/in-organization.tsx'
import { CODE_EXAMPLES } from './examples.ts'
import type { PaneProps } from './pane-props.ts'
import { ReplayPane } from './pane-replay.tsx'
import { SettingsPane } from './pane-settings.tsx'
import { TryPane } from './pane-try.tsx'
import { VersionsPane } from './pane-versions.tsx'
import { CodeState } from './tab-policies.tsx'
import { useCode } from './use-code.ts'
import { useDiagnostics } from './use-diagnostics.ts'
import { useDraft } from './use-draft.ts'

/** A policy: its code, and beside it what it says of inputs and of what has happened. */
export function PolicyPage({
  params,
  search,
}: PageProps<'/organizations/:organization/policies/:policyId'>) {
  const pane = POLICY_PANES.find((one) => one === search.get('pane')) ?? 'try'
  const line = Number(search.get('line') ?? '')
  return (
    <InOrganization name={params.organization}>
      {(organization) => (
        <LoadedPolicy
          key={params.policyId}
          organization={organization}
          policyId={params.policyId}
          pane={pane}
          line={line > 0 ? line : undefined}
        />
      )}
    </InOrganization>
  )
}

interface LoadedPolicyProps {
  readonly organization: v2.Organization
  readonly policyId: string
  readonly pane: PolicyPane
  readonly line: number | undefined
}

function LoadedPolicy({ organization, policyId, pane, line }: LoadedPolicyProps) {
  const policy = useRead(
    ['policy', policyId],
    (api, signal) => api.v2.readPolicy({ params: { policy_id: policyId }, signal }),
    { watches: [{ topic: 'Policy' }] },
  )
  return (
    <QueryView
      query={policy}
      what="the policy"
      page={{
        title: 'Policy',
        crumbs: [
          ...crumbsOf(organization.id),
          { text: 'Policies', href: paths.organization(organization.id, 'policies') },
        ],
      }}
    >
      {({ data }) => (
        <OfOrganization
          name={organization.id}
          owner={data.relationships.organization.data.id}
          hrefIn={(name) => paths.policy(name, policyId)}
        >
          <PolicyHead organization={organization} policy={data} />
          <Workbench organization={organization} policy={data} pane={pane} line={line} />
          <CommandLine {...commandOf(pane, organization.id, data)} />
        </OfOrganization>
      )}
    </QueryView>
  )
}

interface PolicyHeadProps {
  readonly organization: v2.Organization
  readonly policy: v2.RunPolicy
}

function PolicyHead({ organization, policy }: PolicyHeadProps) {
  const { attributes } = policy
  return (
    <PageHead
      title={attributes.name}
      crumbs={[
        ...crumbsOf(organization.id),
        { text: 'Policies', href: paths.organization(organization.id, 'policies') },
      ]}
      aside={
        <>
          <CodeState policy={attributes} />
          <span className="tag">{attributes.kind}</span>
          <span className="tag">{attributes['enforcement-level']}</span>
          <span className="tag">
            in {attributes['policy-set-count']}{' '}
            {attributes['policy-set-count'] === 1 ? 'set' : 'sets'}
          </span>
        </>
      }
      lead={attributes.description ?? undefined}
      actions={
        <DeleteButton
          what={`the policy ${attributes.name}`}
          body={<p>It is removed from all policy sets and no longer enforced.</p>}
          refusal={organizationCan.updatePolicies(organization)}
          call={(api) => api.v2.deletePolicy({ params: { policy_id: policy.id } })}
          after={paths.organization(organization.id, 'policies')}
        />
      }
    />
  )
}

interface WorkbenchProps extends PolicyHeadProps {
  readonly pane: PolicyPane
  readonly line: number | undefined
}

/** The draft lives here, above the panes: it is tried and replayed before it is saved. */
function Workbench({ organization, policy, pane, line }: WorkbenchProps) {
  const hasCode = policy.attributes['code-size'] !== null
  const stored = useCode(hasCode ? policy.id : undefined)
  const [draft, setDraft] = useDraft(policy.id)
  const [failing, setFailing] = useState<readonly number[]>()
  const sha = policy.attributes['code-sha256']
  // Of what was saved here: it is not somebody else's when it comes back.
  const [savedSha, setSavedSha] = useState<string | null>()
  const isStored = draft !== undefined && draft.code === stored.data
  useEffect(() => {
    if (isStored) setDraft(undefined)
  }, [isStored, setDraft])
  if (hasCode && stored.data === undefined && stored.error === null)
    return <Loading what="the code" />
  const code = draft?.code ?? stored.data ?? CODE_EXAMPLES[policy.attributes.kind]
  const isChanged = !hasCode || (draft !== undefined && draft.code !== stored.data)
  const shared = { organization, policy, code, isChanged, onFailing: setFailing }
  const isTheirs = draft !== undefined && sha !== draft.begunSha && sha !== savedSha
  const change = (text: string) => {
    setDraft({ code: text, begunSha: draft === undefined ? sha : draft.begunSha })
    setFailing(undefined)
  }
  return (
    <div className="workbench">
      <CodePanel
        {...shared}
        onDiscard={draft === undefined ? undefined : () => setDraft(undefined)}
        marked={failing ?? (line === undefined ? NO_LINES : [line])}
        isOvertaken={isTheirs && isChanged}
        onChange={change}
        onSaved={setSavedSha}
      />
      <div className="workbench-side">
        <Tabs label="Beside the code" current={pane} tabs={tabsOf(organization.id, policy.id)} />
        <PaneView pane={pane} view={shared} onCode={change} />
      </div>
    </div>
  )
}

const NO_LINES: readonly number[] = []

interface PaneViewProps {
  readonly pane: PolicyPane
  readonly view: PaneProps
  readonly onCode: (code: string) => void
}

function PaneView({ pane, view, onCode }: PaneViewProps) {
  switch (pane) {
    case 'try':
      return <TryPane {...view} />
    case 'replay':
      return <ReplayPane {...view} />
    case 'versions':
      return <VersionsPane policy={view.policy} onCode={onCode} />
    case 'settings':
      return <SettingsPane key={view.policy.id} {...view} />
  }
}

interface CodePanelProps extends PaneProps {
  readonly marked: readonly number[]
  readonly onChange: (code: string) => void
  /** Whether somebody else uploaded code since the draft was begun. */
  readonly isOvertaken: boolean
  readonly onSaved: (sha: string | null) => void
  /** Absent when there is nothing to throw away. */
  readonly onDiscard: (() => void) | undefined
}

function CodePanel(props: CodePanelProps) {
  const { organization, policy, code, isChanged, marked, onChange, onDiscard } = props
  const { isOvertaken, onSaved } = props
  const act = useAct()
  const refusal = organizationCan.updatePolicies(organization)
  const problems = useDiagnostics({ policy, code, isChanged, mayTry: refusal === undefined })
  const save = async () => {
    const saved = await act({
      call: (api) => api.v2.uploadPolicy({ params: { policy_id: policy.id }, body: code }),
      done: ({ data }) =>
        data.data.attributes.diagnostics.length === 0
          ? 'The code is saved.'
          : 'The code is saved but has errors; see the marks.',
    })
    if (saved !== undefined) onSaved(saved.data.data.attributes['code-sha256'])
  }
  return (
    <Panel
      title={isChanged ? 'Code, not saved' : 'Code'}
      isFlush
      actions={
        <>
          {onDiscard !== undefined && <ActionButton onAct={onDiscard}>Discard draft</ActionButton>}
          <ActionButton
            kind="primary"
            refusal={
              refusal ??
              (isChanged ? undefined : 'Nothing was changed.') ??
              (isOvertaken ? 'Another user uploaded a new version: see below.' : undefined)
            }
            onAct={save}
          >
            Save
          </ActionButton>
        </>
      }
    >
      {isOvertaken && (
        <OvertakenNote refusal={refusal} onTake={() => onDiscard?.()} onSave={save} />
      )}
      <Editor
        label="Code of the policy"
        language={policy.attributes.kind === 'opa' ? 'rego' : 'native'}
        value={code}
        onChange={onChange}
        problems={problems}
        marked={marked}
        isReadOnly={refusal !== undefined}
        minHeight="360px"
      />
      {problems.length > 0 && (
        <ul className="problems" aria-label="Problems">
          {problems.map(({ line, column, message }) => (
            <li key={`${line}:${column}:${message}`}>
              <strong>
                {line}:{column}
              </strong>{' '}
              {message}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

interface OvertakenNoteProps {
  readonly refusal: Verdict
  readonly onTake: () => void
  readonly onSave: () => Promise<void>
}

function OvertakenNote({ refusal, onTake, onSave }: OvertakenNoteProps) {
  return (
    <div className="note tone-warn" role="alert">
      <p>Another user uploaded a new version while you were editing. Your draft is kept.</p>
      <div className="row">
        <ActionButton onAct={onTake}>Use theirs</ActionButton>
        <ActionButton kind="danger" refusal={refusal} onAct={onSave}>
          Overwrite with mine
        </ActionButton>
      </div>
    </div>
  )
}

const PANE_TEXTS: Readonly<Record<PolicyPane, string>> = {
  try: 'Try',
  replay: 'Replay',
  versions: 'Versions',
  settings: 'Settings',
}

function tabsOf(organization: string, id: string) {
  return POLICY_PANES.map((pane) => ({
    id: pane,
    text: PANE_TEXTS[pane],
    href: paths.policy(organization, id, { pane }),
  }))
}

function commandOf(pane: PolicyPane, organization: string, { id, attributes }: v2.RunPolicy) {
  const where = `--organization ${quoted(organization)} ${quoted(attributes.name)}`
  const path = `/api/v2/policies/${id}`
  switch (pane) {
    case 'try':
      return {
        cli: `reeve policy try ${where} input.json`,
        call: { method: 'POST', path: `${path}/actions/evaluate`, body: TRIAL_BODY } as const,
      }
    case 'replay':
      return {
        cli: `reeve policy replay ${where}`,
        call: { method: 'POST', path: `${path}/actions/replay`, body: REPLAY_BODY } as const,
      }
    case 'versions':
      return { cli: `reeve policy versions ${where}`, call: { path: `${path}/versions` } }
    case 'settings':
      return { cli: `reeve policy show ${where}`, call: { path } }
  }
}

const TRIAL_BODY = { data: { type: 'policy-trials', attributes: { input: { job: {} } } } } as const
const REPLAY_BODY = { data: { type: 'policy-replays' } } as const
