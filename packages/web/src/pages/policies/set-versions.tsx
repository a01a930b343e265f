import type { v2 } from '@reeve/contract'
import { useRef } from 'react'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfText } from '../../parts/time.ts'
import type { Api } from '../../session/api.ts'

const COLUMNS: readonly Column<v2.PolicySetVersion>[] = [
  { id: 'id', head: 'Version', width: '28%', cell: ({ id }) => <code>{id}</code> },
  {
    id: 'status',
    head: 'State',
    width: '120px',
    cell: ({ attributes }) => <StateBadge state={attributes.status} />,
  },
  { id: 'error', head: 'Fault', cell: ({ attributes }) => attributes.error ?? '–' },
  {
    id: 'source',
    head: 'Source',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => attributes.source,
  },
  {
    id: 'made',
    head: 'Uploaded',
    width: '112px',
    isExtra: true,
    cell: ({ attributes }) => <Ago date={dateOfText(attributes['created-at'])} />,
  },
]

interface SetVersionsProps {
  readonly set: v2.PolicySet
  readonly refusal: Verdict
}

/** The policies of a set as archives, the newest first. */
export function SetVersions({ set, refusal }: SetVersionsProps) {
  const versions = useRead(
    ['policy-set-versions', set.id],
    (api, signal) =>
      api.v2.listPolicySetVersions({
        params: { policy_set_id: set.id },
        query: { 'page[size]': 20 },
        signal,
      }),
    { watches: [{ topic: 'PolicySet' }] },
  )
  return (
    <Panel title="Versions" isFlush actions={<Upload set={set} refusal={refusal} />}>
      <QueryView query={versions} what="the versions">
        {({ data }) => (
          <DataTable
            label="Versions"
            columns={COLUMNS}
            rows={data}
            keyOf={({ id }) => id}
            empty={
              <p className="quiet padded">
                None: the set has the policies above. An archive with policies and their helpers
                takes their place.
              </p>
            }
          />
        )}
      </QueryView>
    </Panel>
  )
}

function Upload({ set, refusal }: SetVersionsProps) {
  const act = useAct()
  const field = useRef<HTMLInputElement>(null)
  const upload = async (file: File) => {
    await act({
      call: (api) => uploadVersion(api, set.id, file),
      done: ({ attributes }) =>
        attributes.status === 'errored'
          ? `The archive was uploaded but is not active: ${attributes.error ?? ''}`
          : `${file.name} is active.`,
    })
  }
  return (
    <>
      <input
        ref={field}
        type="file"
        className="hidden"
        tabIndex={-1}
        aria-label="Archive of policies"
        accept=".tar.gz,.tgz,application/gzip"
        onChange={({ target }) => {
          const file = target.files?.[0]
          // The same file may be chosen again after it was mended.
          target.value = ''
          if (file !== undefined) void upload(file)
        }}
      />
      <ActionButton refusal={refusal} onAct={() => field.current?.click()}>
        Upload an archive…
      </ActionButton>
    </>
  )
}

/** Makes a version, gives it its archive, and reads what became of it. */
async function uploadVersion(api: Api, set: string, file: File): Promise<v2.PolicySetVersion> {
  const made = await api.v2.createPolicySetVersion({ params: { policy_set_id: set } })
  const params = { policy_set_version_id: made.data.data.id }
  const body = new Uint8Array(await file.arrayBuffer())
  await api.v2.uploadPolicySetVersion({ params, body })
  return (await api.v2.readPolicySetVersion({ params })).data.data
}
