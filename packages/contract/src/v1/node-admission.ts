import * as t from './shared-schemas.ts'
import { operate, list, remove, write, routes } from './define.ts'
import { NodeUpdateResponse } from './node.ts'

const joinTokenFields = {
  ID: t.Uuid(),
  NodeName: t.String({ description: 'The name that the node must have; empty: any.' }),
  NodePool: t.String({ description: 'The pool that the node must be in; empty: any.' }),
  CreatedBy: t.String({ description: 'Accessor of the token that created it.' }),
  CreateTime: t.Timestamp(),
  ExpiresAt: t.Timestamp(),
  UsedBy: t.String({ description: 'The node that joined with it; empty: none yet.' }),
  UsedAt: t.Nullable(t.Timestamp()),
  CreateIndex: t.Index(),
  ModifyIndex: t.Index(),
}

export const NodeJoinTokenStub = t.Object(joinTokenFields, {
  $id: 'NodeJoinTokenStub',
  description: 'A join token without its secret. It is listed until it expires, used or not.',
})
export type NodeJoinTokenStub = t.Infer<typeof NodeJoinTokenStub>

export const NodeJoinToken = t.Object(
  {
    ...joinTokenFields,
    SecretID: t.String({ description: 'Shown once: give it to the node as its join token.' }),
  },
  { $id: 'NodeJoinToken', description: 'Admits one new node, once, until it expires.' },
)
export type NodeJoinToken = t.Infer<typeof NodeJoinToken>

export const NodeJoinTokenRequest = t.Named('NodeJoinTokenRequest', {
  TTL: t.String({ description: 'How long it is valid, such as `30m`; `1h` by default.' }),
  NodeName: t.String(),
  NodePool: t.String(),
})
export type NodeJoinTokenRequest = t.Input<t.Infer<typeof NodeJoinTokenRequest>>

export const SharedJoinTokenRequest = t.Named('SharedJoinTokenRequest', {
  SecretID: t.String({ description: 'The new token; generated when it is empty.' }),
})
export type SharedJoinTokenRequest = t.Input<t.Infer<typeof SharedJoinTokenRequest>>

export const SharedJoinToken = t.Named('SharedJoinToken', {
  SecretID: t.String({ description: 'The new token, shown once.' }),
  IsEnabled: t.Boolean({
    description: 'False where `server.shared_join_token` turns the shared token off.',
  }),
  Index: t.Index(),
})
export type SharedJoinToken = t.Infer<typeof SharedJoinToken>

export const NodeRevocation = t.Object(
  {
    NodeID: t.Uuid(),
    NodeName: t.String(),
    Reason: t.String(),
    RevokedBy: t.String({ description: 'Accessor of the token that revoked the node.' }),
    RevokeTime: t.Timestamp(),
    CreateIndex: t.Index(),
    ModifyIndex: t.Index(),
  },
  { $id: 'NodeRevocation', description: 'A node that is refused until the revocation is undone.' },
)
export type NodeRevocation = t.Infer<typeof NodeRevocation>

export const NodeRevokeRequest = t.Named('NodeRevokeRequest', {
  Reason: t.String({ description: 'Kept with the revocation.' }),
})
export type NodeRevokeRequest = t.Input<t.Infer<typeof NodeRevokeRequest>>

export const NODE_SECRET_ROTATIONS = ['rotated', 'pending'] as const
export type NodeSecretRotation = (typeof NODE_SECRET_ROTATIONS)[number]

export const NodeSecretRotationResponse = t.Named('NodeSecretRotationResponse', {
  Status: t.Enum(NODE_SECRET_ROTATIONS, {
    description:
      '`rotated`: the node has stored its new secret and the old one is invalid. `pending`: ' +
      'the node has not confirmed yet; it receives a new secret when it connects.',
  }),
  NodeModifyIndex: t.Index(),
  Index: t.Index(),
})
export type NodeSecretRotationResponse = t.Infer<typeof NodeSecretRotationResponse>

/** Which machines may be nodes: how they join, prove who they are, and are shut out. */
export const nodeAdmissionRoutes = routes('Nodes', {
  listNodeJoinTokens: list('/node/join-tokens', {
    summary: 'List join tokens, without their secrets.',
    returns: t.jsonResponse(t.Array(NodeJoinTokenStub), 'The tokens that have not expired, by id.'),
    errors: { 400: 'The prefix is not an even number of hex characters, or the filter is wrong.' },
    needs: 'node:read',
  }),
  createNodeJoinToken: write('/node/join-token', {
    summary: 'Create a join token: it admits one new node, once.',
    body: NodeJoinTokenRequest,
    returns: t.jsonResponse(NodeJoinToken, 'The token, with its secret.'),
    errors: {
      400: 'The TTL, the name or the pool is invalid.',
      429: 'There are too many join tokens.',
    },
    needs: 'node:write',
  }),
  deleteNodeJoinToken: remove('/node/join-token/:token_id', {
    summary: 'Revoke a join token. A node that has joined with it stays.',
    returns: t.emptyResponse('The token is revoked.'),
    needs: 'node:write',
  }),
  rotateSharedJoinToken: write('/node/shared-join-token', {
    summary: 'Replace the shared join token on all servers. Nodes that have joined stay.',
    body: SharedJoinTokenRequest,
    returns: t.jsonResponse(SharedJoinToken, 'The new token. The previous one is revoked.'),
    errors: { 400: 'The given token is too short or too long.' },
    needs: 'management',
  }),
  listNodeRevocations: list('/node/revocations', {
    summary: 'List revoked nodes, also those that are not listed as nodes any more.',
    returns: t.jsonResponse(t.Array(NodeRevocation), 'The revocations, by node id.'),
    errors: { 400: 'The prefix is not an even number of hex characters, or the filter is wrong.' },
    needs: 'node:read',
  }),
  revokeNode: operate('/node/:node_id/revoke', {
    summary: 'Shut a node out: close its connections, replace its allocations, refuse its id.',
    body: NodeRevokeRequest,
    returns: t.jsonResponse(
      NodeUpdateResponse,
      'The node is down and refused; its jobs are evaluated.',
    ),
    needs: 'node:write',
  }),
  unrevokeNode: write('/node/:node_id/unrevoke', {
    summary: 'Undo the revocation of a node.',
    returns: t.emptyResponse('The node is admitted again, with its own secret or a join token.'),
    errors: { 404: '`node is not revoked`' },
    needs: 'node:write',
  }),
  rotateNodeSecret: write('/node/:node_id/rotate-secret', {
    summary: 'Give a node a new secret. Its tasks keep running.',
    returns: t.jsonResponse(NodeSecretRotationResponse, 'The secret is rotated, or will be.'),
    errors: {
      409: 'The node is revoked.',
      500: 'The node refused the new secret; the old one stays valid.',
    },
    needs: 'node:write',
  }),
})
