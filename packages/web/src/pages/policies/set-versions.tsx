import type { v2 } from '@reeve/contract'
import { useRef } from 'react'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromText } from '../../format.ts'
import type { Api } from '../../session/api.ts'

const COLUMNS: readonly Column<v2.PolicySetVersion>[] = [
  { id: 'id', head: 'Version', width: '28%', cell: ({ id }) => <code>{id}</code> },
  {
    id: 'status',
    head: 'Status',
    width: '120px',
    cell: ({ attributes }) => <StatusBadge state={attributes.status} />,
  },
  { id: 'error', head: 'Error', cell: ({ attributes }) => attributes.error ?? '–' },
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
    cell: ({ attributes }) => <RelativeTime date={dateFromText(attributes['created-at'])} />,
  },
]

interface SetVersionsProps {
  readonly policySet: v2.PolicySet
  readonly disabledReason: DisabledReason
}

/** The uploaded versions of a policy set, newest first. */
export function SetVersions({ policySet, disabledReason }: SetVersionsProps) {
  const versions = useApiQuery(
    ['policy-set-versions', policySet.id],
    (api, signal) =>
      api.v2.listPolicySetVersions({
        params: { policy_set_id: policySet.id },
        query: { 'page[size]': 20 },
        signal,
      }),
    { watches: [{ topic: 'PolicySet' }] },
  )
  return (
    <Panel
      title="Versions"
      isFlush
      actions={<UploadButton policySet={policySet} disabledReason={disabledReason} />}
    >
      <QueryView query={versions} what="the versions">
        {({ data }) => (
          <DataTable
            label="Versions"
            columns={COLUMNS}
            rows={data}
            keyOf={({ id }) => id}
            empty={
              <p className="quiet padded">
                No versions: the set uses the policies above. An uploaded archive of policies and
                their helpers replaces them.
              </p>
            }
          />
        )}
      </QueryView>
    </Panel>
  )
}

function UploadButton({ policySet, disabledReason }: SetVersionsProps) {
  const callApi = useApiAction()
  const fileInput = useRef<HTMLInputElement>(null)
  const upload = async (file: File) => {
    await callApi({
      call: (api) => uploadVersion(api, policySet.id, file),
      successMessage: ({ attributes }) =>
        attributes.status === 'errored'
          ? `The archive was uploaded but is not active: ${attributes.error ?? ''}`
          : `${file.name} is active.`,
    })
  }
  return (
    <>
      <input
        ref={fileInput}
        type="file"
        className="hidden"
        tabIndex={-1}
        aria-label="Archive of policies"
        accept=".tar.gz,.tgz,application/gzip"
        onChange={({ target }) => {
          const file = target.files?.[0]
          // Reset, so that selecting the same file again triggers a change event.
          target.value = ''
          if (file !== undefined) void upload(file)
        }}
      />
      <ActionButton disabledReason={disabledReason} onAction={() => fileInput.current?.click()}>
        Upload an archive…
      </ActionButton>
    </>
  )
}

/** Creates a version, uploads its archive and returns the resulting version. */
async function uploadVersion(api: Api, set: string, file: File): Promise<v2.PolicySetVersion> {
  const created = await api.v2.createPolicySetVersion({ params: { policy_set_id: set } })
  const params = { policy_set_version_id: created.data.data.id }
  const body = new Uint8Array(await file.arrayBuffer())
  await api.v2.uploadPolicySetVersion({ params, body })
  return (await api.v2.readPolicySetVersion({ params })).data.data
}
