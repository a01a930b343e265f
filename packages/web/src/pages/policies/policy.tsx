import type { v2 } from '@reeve/contract'
import { useEffect, useState } from 'react'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { Editor } from '../../components/lazy.tsx'
import type { Problem } from '../../editor/problem.ts'
import { ActionButton, DeleteButton } from '../../components/action-button.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { quoteShellArg } from '../../commands.ts'
import { Loading } from '../../components/notices.tsx'
import { PageHeader, Panel, Tabs } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { paths, POLICY_PANES, type PolicyPane } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import {
  organizationCrumbs,
  OrganizationPageFrame,
  OrganizationGuard,
} from '../governance/in-organization.tsx'
import { CODE_EXAMPLES, useDiagnostics, usePolicyCode, usePolicyDraft } from './policy-code.ts'
import { type PaneProps, SettingsPane, VersionsPane } from './policy-panes.tsx'
import { ReplayPane, TryPane } from './policy-trials.tsx'
import { CodeState } from './tab-policies.tsx'

/** A policy: its code, with panes to test, replay and configure it. */
export function PolicyPage({
  params,
  search,
}: PageProps<'/organizations/:organization/policies/:policyId'>) {
  const pane = POLICY_PANES.find((one) => one === search.get('pane')) ?? 'try'
  const line = Number(search.get('line') ?? '')
  return (
    <OrganizationPageFrame name={params.organization}>
      {(organization) => (
        <LoadedPolicy
          key={params.policyId}
          organization={organization}
          policyId={params.policyId}
          pane={pane}
          line={line > 0 ? line : undefined}
        />
      )}
    </OrganizationPageFrame>
  )
}

interface LoadedPolicyProps {
  readonly organization: v2.Organization
  readonly policyId: string
  readonly pane: PolicyPane
  readonly line: number | undefined
}

function LoadedPolicy({ organization, policyId, pane, line }: LoadedPolicyProps) {
  const policy = useApiQuery(
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
          ...organizationCrumbs(organization.id),
          { text: 'Policies', href: paths.organization(organization.id, 'policies') },
        ],
      }}
    >
      {({ data }) => (
        <OrganizationGuard
          name={organization.id}
          owner={data.relationships.organization.data.id}
          hrefIn={(name) => paths.policy(name, policyId)}
        >
          <PolicyHead organization={organization} policy={data} />
          <PolicyWorkbench organization={organization} policy={data} pane={pane} line={line} />
          <CliAndApiPanel {...paneCommand(pane, organization.id, data)} />
        </OrganizationGuard>
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
    <PageHeader
      title={attributes.name}
      crumbs={[
        ...organizationCrumbs(organization.id),
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
          disabledReason={organizationDisabledReason.updatePolicies(organization)}
          call={(api) => api.v2.deletePolicy({ params: { policy_id: policy.id } })}
          returnTo={paths.organization(organization.id, 'policies')}
        />
      }
    />
  )
}

interface WorkbenchProps extends PolicyHeadProps {
  readonly pane: PolicyPane
  readonly line: number | undefined
}

/** Holds the draft, which the panes evaluate and replay before it is saved. */
function PolicyWorkbench({ organization, policy, pane, line }: WorkbenchProps) {
  const hasCode = policy.attributes['code-size'] !== null
  const stored = usePolicyCode(hasCode ? policy.id : undefined)
  const [draft, setDraft] = usePolicyDraft(policy.id)
  const [failingLines, setFailingLines] = useState<readonly number[]>()
  const sha = policy.attributes['code-sha256']
  // Hash of the code saved in this tab, to distinguish it from uploads by others.
  const [savedSha, setSavedSha] = useState<string | null>()
  const isStored = draft !== undefined && draft.code === stored.data
  useEffect(() => {
    if (isStored) setDraft(undefined)
  }, [isStored, setDraft])
  if (hasCode && stored.data === undefined && stored.error === null)
    return <Loading what="the code" />
  const code = draft?.code ?? stored.data ?? CODE_EXAMPLES[policy.attributes.kind]
  const isChanged = !hasCode || (draft !== undefined && draft.code !== stored.data)
  const paneProps = { organization, policy, code, isChanged, onFailingLines: setFailingLines }
  const isUploadedByOthers = draft !== undefined && sha !== draft.baseSha && sha !== savedSha
  const change = (text: string) => {
    setDraft({ code: text, baseSha: draft === undefined ? sha : draft.baseSha })
    setFailingLines(undefined)
  }
  return (
    <div className="workbench">
      <CodePanel
        {...paneProps}
        onDiscard={draft === undefined ? undefined : () => setDraft(undefined)}
        markedLines={failingLines ?? (line === undefined ? NO_LINES : [line])}
        hasConflict={isUploadedByOthers && isChanged}
        onChange={change}
        onSaved={setSavedSha}
      />
      <div className="workbench-side">
        <Tabs label="Beside the code" current={pane} tabs={tabsOf(organization.id, policy.id)} />
        <PaneView pane={pane} view={paneProps} onCode={change} />
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
  readonly markedLines: readonly number[]
  readonly onChange: (code: string) => void
  /** Whether another user uploaded code since the draft was started. */
  readonly hasConflict: boolean
  readonly onSaved: (sha: string | null) => void
  /** Undefined without a draft. */
  readonly onDiscard: (() => void) | undefined
}

function CodePanel(props: CodePanelProps) {
  const { organization, policy, code, isChanged, markedLines, onChange, onDiscard } = props
  const { hasConflict, onSaved } = props
  const callApi = useApiAction()
  const disabledReason = organizationDisabledReason.updatePolicies(organization)
  const problems = useDiagnostics({
    policy,
    code,
    isChanged,
    canEvaluate: disabledReason === undefined,
  })
  const save = async () => {
    const saved = await callApi({
      call: (api) => api.v2.uploadPolicy({ params: { policy_id: policy.id }, body: code }),
      successMessage: ({ data }) =>
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
          {onDiscard !== undefined && (
            <ActionButton onAction={onDiscard}>Discard draft</ActionButton>
          )}
          <ActionButton
            kind="primary"
            disabledReason={
              disabledReason ??
              (isChanged ? undefined : 'There are no changes.') ??
              (hasConflict ? 'Another user uploaded a new version: see below.' : undefined)
            }
            onAction={save}
          >
            Save
          </ActionButton>
        </>
      }
    >
      {hasConflict && (
        <ConflictNotice
          disabledReason={disabledReason}
          onUseTheirs={() => onDiscard?.()}
          onSave={save}
        />
      )}
      <Editor
        label="Code of the policy"
        language={policy.attributes.kind === 'opa' ? 'rego' : 'native'}
        value={code}
        onChange={onChange}
        problems={problems}
        markedLineNumbers={markedLines}
        isReadOnly={disabledReason !== undefined}
        minHeight="360px"
      />
      {problems.length > 0 && <ProblemList problems={problems} />}
    </Panel>
  )
}

interface ConflictNoticeProps {
  readonly disabledReason: DisabledReason
  readonly onUseTheirs: () => void
  readonly onSave: () => Promise<void>
}

function ConflictNotice({ disabledReason, onUseTheirs, onSave }: ConflictNoticeProps) {
  return (
    <div className="note tone-warn" role="alert">
      <p>Another user uploaded a new version while you were editing. Your draft is kept.</p>
      <div className="row">
        <ActionButton onAction={onUseTheirs}>Load current version</ActionButton>
        <ActionButton kind="danger" disabledReason={disabledReason} onAction={onSave}>
          Overwrite
        </ActionButton>
      </div>
    </div>
  )
}

function ProblemList({ problems }: { readonly problems: readonly Problem[] }) {
  return (
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

function paneCommand(pane: PolicyPane, organization: string, { id, attributes }: v2.RunPolicy) {
  const target = `--organization ${quoteShellArg(organization)} ${quoteShellArg(attributes.name)}`
  const path = `/api/v2/policies/${id}`
  switch (pane) {
    case 'try':
      return {
        cli: `reeve policy try ${target} input.json`,
        call: { method: 'POST', path: `${path}/actions/evaluate`, body: TRIAL_BODY } as const,
      }
    case 'replay':
      return {
        cli: `reeve policy replay ${target}`,
        call: { method: 'POST', path: `${path}/actions/replay`, body: REPLAY_BODY } as const,
      }
    case 'versions':
      return { cli: `reeve policy versions ${target}`, call: { path: `${path}/versions` } }
    case 'settings':
      return { cli: `reeve policy show ${target}`, call: { path } }
  }
}

const TRIAL_BODY = { data: { type: 'policy-trials', attributes: { input: { job: {} } } } } as const
const REPLAY_BODY = { data: { type: 'policy-replays' } } as const
