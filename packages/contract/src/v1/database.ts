import { Type } from 'typebox'
import { route } from '../route.ts'
import { Index, type Shape } from '../shape.ts'
import { denied, ok, PUT_OR_POST, refused } from './answer.ts'
import { WriteQuery } from './query.ts'

export const LostCommits = Type.Object(
  {
    FromIndex: Index('Index of the first commit that is missing.'),
    ToIndex: Index('Index of the last one.'),
    Commits: Type.Integer({ description: 'How many are missing.' }),
  },
  { $id: 'LostCommits', description: 'Acknowledged commits that the database does not have.' },
)
export type LostCommits = Shape<typeof LostCommits>

export const DatabaseLossResponse = Type.Object(
  {
    Accepted: Type.Array(LostCommits, {
      description: 'Losses that had not been accepted; empty when there was none.',
    }),
  },
  { $id: 'DatabaseLossResponse' },
)
export type DatabaseLossResponse = Shape<typeof DatabaseLossResponse>

export const databaseRoutes = {
  acceptDatabaseLoss: route({
    id: 'acceptDatabaseLoss',
    methods: PUT_OR_POST,
    path: '/v1/operator/database/accept-loss',
    summary: 'Accept writes again after the database has lost acknowledged commits.',
    section: 'Operator',
    audit: 'always',
    query: WriteQuery,
    answers: {
      200: ok(DatabaseLossResponse, 'Writes are accepted; the lost commits stay lost.'),
      400: refused('The servers share no database.'),
      403: denied,
    },
    needs: 'operator:write',
  }),
} as const
