import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import type { DisabledReason } from '../../actions/verdict.ts'
import { useApiAction } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { RelativeTime } from '../../parts/ago.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { Panel } from '../../parts/panel.tsx'
import { dateFromText, formatMinute } from '../../parts/time.ts'
import { NewAuthToken, type CreateToken } from './new-auth-token.tsx'

interface AuthTokensPanelProps {
  readonly title: string
  readonly tokens: readonly v2.AuthenticationToken[]
  /** Shown without tokens. */
  readonly emptyText: string
  readonly disabledReason: DisabledReason
  /** Adds a column with the holder; absent if all tokens have the same holder. */
  readonly holderOf?: (token: v2.AuthenticationToken) => string
  readonly create?: CreateToken
  readonly hasDescription?: boolean
}

/** A table of governance tokens, without secrets. */
export function AuthTokensPanel(props: AuthTokensPanelProps) {
  const { title, tokens, emptyText, disabledReason, create, hasDescription = true } = props
  const [isCreating, setCreating] = useState(false)
  const action = hasDescription || tokens.length === 0 ? 'New token…' : 'Replace…'
  return (
    <Panel
      title={title}
      isFlush
      actions={
        create !== undefined && (
          <ActionButton disabledReason={disabledReason} onAction={() => setCreating(true)}>
            {action}
          </ActionButton>
        )
      }
    >
      <DataTable
        label={title}
        columns={columnsOf(props)}
        rows={tokens}
        keyOf={({ id }) => id}
        empty={<p className="quiet padded">{emptyText}</p>}
      />
      {isCreating && create !== undefined && (
        <NewAuthToken
          title={`New: ${title}`}
          hasDescription={hasDescription}
          createToken={create}
          onClose={() => setCreating(false)}
        />
      )}
    </Panel>
  )
}

function columnsOf({
  holderOf,
  disabledReason,
}: AuthTokensPanelProps): readonly Column<v2.AuthenticationToken>[] {
  return [
    {
      id: 'description',
      head: 'Token',
      cell: ({ id, attributes }) => attributes.description ?? <code>{id}</code>,
    },
    ...(holderOf === undefined
      ? []
      : [{ id: 'holder', head: 'Holder', width: '20%', cell: holderOf }]),
    {
      id: 'used',
      head: 'Last used',
      width: '112px',
      isExtra: true,
      cell: ({ attributes }) =>
        attributes['last-used-at'] === null ? (
          'never'
        ) : (
          <RelativeTime date={dateFromText(attributes['last-used-at'])} />
        ),
    },
    {
      id: 'made',
      head: 'Created',
      width: '112px',
      isExtra: true,
      cell: ({ attributes }) => <RelativeTime date={dateFromText(attributes['created-at'])} />,
    },
    {
      id: 'expires',
      head: 'Expires',
      width: '176px',
      isExtra: true,
      cell: ({ attributes }) => {
        const date = dateFromText(attributes['expired-at'])
        return date === undefined ? 'never' : formatMinute(date)
      },
    },
    {
      id: 'do',
      head: 'Actions',
      width: '112px',
      cell: (token) => <Revoke token={token} disabledReason={disabledReason} />,
    },
  ]
}

interface RevokeProps {
  readonly token: v2.AuthenticationToken
  readonly disabledReason: DisabledReason
}

function Revoke({ token, disabledReason }: RevokeProps) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const name = token.attributes.description ?? token.id
  const revoke = async () => {
    const title = `Revoke ${name}?`
    const body = 'Requests with it are rejected from then on. This cannot be undone.'
    if (!(await confirm({ title, body, action: 'Revoke the token', isDangerous: true }))) return
    await callApi({
      call: (api) => api.v2.deleteAuthenticationToken({ params: { token_id: token.id } }),
      successMessage: `${name} is revoked.`,
    })
  }
  return (
    <ActionButton kind="danger" disabledReason={disabledReason} onAction={revoke}>
      Revoke…<span className="hidden"> {name}</span>
    </ActionButton>
  )
}
