import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { Panel } from '../../parts/panel.tsx'
import { dateOfText, minuteText } from '../../parts/time.ts'
import { NewAuthToken, type CreateToken } from './new-auth-token.tsx'

interface AuthTokensProps {
  readonly title: string
  readonly tokens: readonly v2.AuthenticationToken[]
  /** Said when there are none. */
  readonly none: string
  readonly refusal: Verdict
  /** Whose they are, in a column of its own; absent where all are of one. */
  readonly holderOf?: (token: v2.AuthenticationToken) => string
  readonly create?: CreateToken
  readonly hasDescription?: boolean
}

/** Tokens of the governance API without their secrets. */
export function AuthTokens(props: AuthTokensProps) {
  const { title, tokens, none, refusal, create, hasDescription = true } = props
  const [isMaking, setMaking] = useState(false)
  const action = hasDescription || tokens.length === 0 ? 'New token…' : 'Replace it…'
  return (
    <Panel
      title={title}
      isFlush
      actions={
        create !== undefined && (
          <ActionButton refusal={refusal} onAct={() => setMaking(true)}>
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
        empty={<p className="quiet padded">{none}</p>}
      />
      {isMaking && create !== undefined && (
        <NewAuthToken
          title={`New: ${title}`}
          hasDescription={hasDescription}
          create={create}
          onClose={() => setMaking(false)}
        />
      )}
    </Panel>
  )
}

function columnsOf({
  holderOf,
  refusal,
}: AuthTokensProps): readonly Column<v2.AuthenticationToken>[] {
  return [
    {
      id: 'description',
      head: 'Token',
      cell: ({ id, attributes }) => attributes.description ?? <code>{id}</code>,
    },
    ...(holderOf === undefined ? [] : [{ id: 'holder', head: 'Of', width: '20%', cell: holderOf }]),
    {
      id: 'used',
      head: 'Used',
      width: '112px',
      isExtra: true,
      cell: ({ attributes }) =>
        attributes['last-used-at'] === null ? (
          'never'
        ) : (
          <Ago date={dateOfText(attributes['last-used-at'])} />
        ),
    },
    {
      id: 'made',
      head: 'Made',
      width: '112px',
      isExtra: true,
      cell: ({ attributes }) => <Ago date={dateOfText(attributes['created-at'])} />,
    },
    {
      id: 'expires',
      head: 'Expires',
      width: '176px',
      isExtra: true,
      cell: ({ attributes }) => {
        const date = dateOfText(attributes['expired-at'])
        return date === undefined ? 'never' : minuteText(date)
      },
    },
    {
      id: 'do',
      head: 'Do',
      width: '112px',
      cell: (token) => <Revoke token={token} refusal={refusal} />,
    },
  ]
}

interface RevokeProps {
  readonly token: v2.AuthenticationToken
  readonly refusal: Verdict
}

function Revoke({ token, refusal }: RevokeProps) {
  const act = useAct()
  const confirm = useConfirm()
  const name = token.attributes.description ?? token.id
  const revoke = async () => {
    const title = `Revoke ${name}?`
    const body = 'Requests with it are rejected from then on. This cannot be undone.'
    if (!(await confirm({ title, body, action: 'Revoke the token', isDangerous: true }))) return
    await act({
      call: (api) => api.v2.deleteAuthenticationToken({ params: { token_id: token.id } }),
      done: `${name} is revoked.`,
    })
  }
  return (
    <ActionButton kind="danger" refusal={refusal} onAct={revoke}>
      Revoke…<span className="hidden"> {name}</span>
    </ActionButton>
  )
}
